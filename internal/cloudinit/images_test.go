package cloudinit

import "testing"

func TestImagesTellTheirVersion(t *testing.T) {
	for image, want := range map[string]Version{
		"debian/debian-11-amd64-20260101-2000":       {20, 4, 9},
		"debian-cloud/debian-12-bookworm-v20260210":  {22, 4, 11},
		"Debian:debian-12:12-gen2:latest":            {22, 4, 11},
		"136693071363/debian-13-amd64-20260101-1234": {25, 1, 13},
		"debian-12": {22, 4, 11},
		"amazon/al2023-ami-2023.9.20260101.0-kernel-6.1-x86_64":                              {22, 2, 9},
		"redhat/RHEL-9.4.0_HVM-20240605-x86_64-82-Hourly2-GP3":                               {23, 4, 9},
		"309956199498/RHEL-9.7.0_HVM-20251201-x86_64-0-Hourly2-GP3":                          {24, 4, 9},
		"rhel-cloud/rhel-9-v20260101":                                                        {24, 4, 9},
		"rocky/Rocky-9-EC2-Base-9.4-20240509.0.x86_64":                                       {23, 4, 9},
		"rocky-linux-cloud/rocky-linux-10-v20260101":                                         {24, 4, 12},
		"RedHat:RHEL:8-lvm-gen2:latest":                                                      {23, 4, 6},
		"099720109477/ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-amd64-server-20220420":        {22, 1, 10},
		"099720109477/ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-amd64-server-20230601":        {23, 1, 10},
		"099720109477/ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-amd64-server-20260410":        {25, 3, 10},
		"099720109477/ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20240501":    {24, 1, 12},
		"099720109477/ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20260218":    {25, 3, 12},
		"099720109477/ubuntu/images/hvm-ssd-gp3/ubuntu-resolute-26.04-arm64-server-20260701": {26, 1, 14},
		"ubuntu-os-cloud/ubuntu-2404-noble-amd64-v20260101":                                  {24, 3, 12},
		"Canonical:ubuntu-24_04-lts:server-gen1:24.04.202603120":                             {25, 3, 12},
		"ubuntu-24-04-x64": {26, 1, 12},
		"ubuntu-24.04":     {26, 1, 12},
		"ami-0123456789":   Debian13,
		"ssm:/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id": {26, 1, 12},
		"": Debian13,
	} {
		if got := VersionOf(image); got != want {
			t.Errorf("%q: %v with Python 3.%d, want %v with Python 3.%d", image, got, got.Python, want, want.Python)
		}
	}
}

func TestAVersionWithoutAPythonGetsOneOfItsTime(t *testing.T) {
	for _, v := range []Version{Debian12, Debian13} {
		if got := (Version{Major: v.Major, Minor: v.Minor}).complete(); got != v {
			t.Errorf("%v has Python 3.%d, want 3.%d", v, got.Python, v.Python)
		}
	}
	if got := (Version{}).complete(); got != Debian13 {
		t.Errorf("no version is %v, want %v", got, Debian13)
	}
}
