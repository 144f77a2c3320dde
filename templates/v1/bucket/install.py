
if sys.argv[0] == "-c":  # cloud-init runs it; all of this is in source
    home = "/opt/kopshook/hooks/archive"
    os.makedirs(home, 448, True)
    open(home + "/fetch", "wb").write(source)
    open("/etc/systemd/system/kopshook-archive.service", "w").write("""[Unit]
After=network-online.target cloud-config.target
[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=600
EnvironmentFile=-/etc/environment
WorkingDirectory=%s
ExecStart=%s -IWi fetch %s %s
""" % (home, os.path.realpath(sys.executable), *sys.argv[1:]))
    sys.exit(os.system("systemctl daemon-reload") > 0)
