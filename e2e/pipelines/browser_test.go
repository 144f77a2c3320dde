//go:build e2e

package pipelines

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// chromium returns the browser. Where the system's archive has none, nothing can be looked at, and that is said.
func chromium(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err == nil {
		return path
	}
	if exec.Command("apt-cache", "show", "chromium").Run() == nil {
		t.Fatal("chromium is missing: run e2e/install.sh browser")
	}
	fmt.Fprintln(os.Stderr, "e2e: no look at pages in a browser: this system's archive has no chromium")
	t.Skip("this system's archive has no chromium")
	return ""
}

// browser runs chromium on an address of the loopback, from which it reaches nothing else.
func browser(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium(t), append([]string{"--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
		"--user-data-dir=" + t.TempDir(), "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--virtual-time-budget=30000", "--window-size=1600,1000"}, args...)...)
	cmd.WaitDelay = 10 * time.Second
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, errs.String())
	}
	return string(out)
}

// seen runs a script in a page and returns what it puts into the element called result.
func seen(t *testing.T, v any, args ...string) {
	t.Helper()
	dom := browser(t, append([]string{"--dump-dom"}, args...)...)
	m := regexp.MustCompile(`(?s)<pre id="result">(.*?)</pre>`).FindStringSubmatch(dom)
	if m == nil || m[1] == "" {
		t.Fatalf("the page says nothing:\n%.2000s", dom)
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(m[1])), v); err != nil {
		t.Fatalf("%v\n%.500s", err, m[1])
	}
}

// explained is what kopshook explain prints of the example cluster with its hooks, and 25 more with long names on one instance
// group.
func explained(t *testing.T, format string) string {
	t.Helper()
	dir, repo := t.TempDir(), repository(t)
	run(t, repo, nil, "go", "build", "-o", filepath.Join(dir, "kopshook"), ".")
	var many strings.Builder
	many.WriteString("apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata: {name: many}\nspec:\n  selector: {names: [nodes]}\n  archive: true\n  hooks:\n")
	for i := range 25 {
		fmt.Fprintf(&many, "  - {name: install-the-agent-of-the-monitoring-system-number-%d, script: \"#!/bin/sh\\ntrue\\n\"}\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "many.yaml"), []byte(many.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "kopshook"), "explain", "-o", format, "-f", filepath.Join(dir, "many.yaml"), "-f", "examples/gpu", "-f", "examples/root-ca", "examples/mixed/cluster.yaml")
	cmd.Dir = repo
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) { // a group of it loses something
		t.Fatal(err)
	}
	return string(out)
}

// measure is what there is to measure in a page that is shown in a frame.
const measure = `<!doctype html><body style="margin:0"><iframe id="f" src="/page.html" style="border:0;width:%dpx;height:900px"></iframe><pre id="result"></pre><script>
const parts = c => c.match(/[0-9.]+/g).map(Number);
const light = c => { const [r, g, b] = parts(c).map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
addEventListener("load", () => {
  const frame = document.getElementById("f"), d = frame.contentDocument, w = frame.contentWindow;
  const r = {overflow: d.documentElement.scrollWidth - frame.clientWidth, requests: w.performance.getEntriesByType("resource").map(e => e.name),
    background: light(w.getComputedStyle(d.body).backgroundColor), headings: [...d.querySelectorAll("h1,h2")].map(h => h.textContent), smallest: 99, small: "", wide: [], faint: []};
  for (const e of d.querySelectorAll("body *")) {
    const own = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.textContent).join("").trim(), box = e.getBoundingClientRect();
    if (!own || box.width === 0 || ["STYLE", "TITLE", "DESC"].includes(e.tagName.toUpperCase()) || e.closest("details:not([open]) pre")) continue;
    const style = w.getComputedStyle(e), size = parseFloat(style.fontSize) * (e.getScreenCTM ? e.getScreenCTM().a : 1);
    if (size < r.smallest) { r.smallest = size; r.small = own; }
    if (box.right > frame.clientWidth + 1 || box.left < -1) r.wide.push(own);
    if (e.ownerSVGElement) continue;
    let ground = e;
    while (ground && parts(w.getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
    const c = contrast(style.color, w.getComputedStyle(ground || d.body).backgroundColor);
    if (c < 4.5) r.faint.push(own + " " + c.toFixed(1));
  }
  document.getElementById("result").textContent = JSON.stringify(r);
});
</script>`

// The page of kopshook explain in a real browser: it fits, it is legible, light and dark, and it asks nobody for anything.
func TestThePageOfExplain(t *testing.T) {
	chromium(t)
	page := explained(t, "html")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/page.html" {
			fmt.Fprint(w, page)
			return
		}
		var width int
		fmt.Sscanf(r.URL.Path, "/%d", &width)
		fmt.Fprintf(w, measure, width)
	}))
	defer server.Close()
	for _, width := range []int{390, 800, 1400} {
		for scheme, setting := range map[string]string{"dark": "0", "light": "1"} {
			t.Run(fmt.Sprintf("%d %s", width, scheme), func(t *testing.T) {
				var r struct {
					Overflow, Background, Smallest float64
					Small                          string
					Requests, Headings, Wide       []string
					Faint                          []string
				}
				seen(t, &r, "--blink-settings=preferredColorScheme="+setting, fmt.Sprintf("%s/%d", server.URL, width))
				if r.Overflow > 0 || len(r.Wide) > 0 {
					t.Errorf("it is %v px wider than the window: %q", r.Overflow, r.Wide)
				}
				if len(r.Requests) > 0 {
					t.Errorf("it asks for %q", r.Requests)
				}
				if len(r.Faint) > 0 {
					t.Errorf("contrast below 4.5: %q", r.Faint)
				}
				if r.Smallest < 8 {
					t.Errorf("%q is %.1f px high", r.Small, r.Smallest)
				}
				if dark := r.Background < 0.2; dark != (scheme == "dark") {
					t.Errorf("the background has the luminance %v", r.Background)
				}
				for _, h := range r.Headings[1:] {
					if !regexp.MustCompile(`^(control-plane-a|apiserver-a|nodes|gpu-a|bastions)\b`).MatchString(h) {
						t.Errorf("the heading %q names no group", h)
					}
				}
			})
		}
	}
	t.Run("printed", func(t *testing.T) {
		pdf := filepath.Join(t.TempDir(), "page.pdf")
		browser(t, "--print-to-pdf="+pdf, "--no-pdf-header-footer", server.URL+"/page.html")
		pages := strings.Split(strings.TrimSuffix(run(t, "", nil, "pdftotext", "-layout", pdf, "-"), "\f"), "\f")
		if len(pages) < 5 {
			t.Errorf("%d pages, want one of each group at least", len(pages))
		}
		for i, text := range pages {
			if !regexp.MustCompile(`\b(control-plane-a|apiserver-a|nodes|gpu-a|bastions)\b`).MatchString(text) {
				t.Errorf("page %d names no group:\n%s", i+1, text)
			}
		}
	})
}

// mermaidVersion is what npm has it as: of the major version that GitHub and GitLab draw with.
const mermaidVersion = "11.12.0"

// drawMermaid draws graphs and says what is in the drawings.
const drawMermaid = `<!doctype html><body><pre id="result"></pre><script src="/mermaid.min.js"></script><script>
mermaid.initialize({startOnLoad: false});
(async () => {
  const r = [];
  const graphs = await (await fetch("/graphs.json")).json();
  for (let i = 0; i < graphs.length; i++) {
    const g = {error: "", nodes: [], clipped: [], edges: 0};
    try {
      const {svg} = await mermaid.render("g" + i, graphs[i]);
      const at = document.body.appendChild(document.createElement("div"));
      at.innerHTML = svg;
      g.edges = at.querySelectorAll("path.flowchart-link").length;
      for (const n of at.querySelectorAll("g.node")) {
        const label = n.querySelector("foreignObject"), text = n.textContent.trim();
        g.nodes.push(text);
        if (label && label.firstElementChild.scrollWidth > label.width.baseVal.value + 2) g.clipped.push(text);
      }
    } catch (e) { g.error = String(e); }
    r.push(g);
  }
  document.getElementById("result").textContent = JSON.stringify(r);
})();
</script>`

// What explain -o mermaid prints is drawn by Mermaid itself: each graph, with boxes that are linked, whole and told apart.
func TestMermaidDrawsWhatExplainPrints(t *testing.T) {
	chromium(t)
	dir := t.TempDir()
	run(t, dir, nil, "npm", "pack", "--silent", "mermaid@"+mermaidVersion)
	run(t, dir, nil, "sh", "-c", "echo '93492e4d609be83653a41c435f4cbd7e74419f7fa6b4fc90a8c983195f64af82  mermaid-"+mermaidVersion+".tgz' | sha256sum -c && tar xzf mermaid-*.tgz package/dist/mermaid.min.js")
	texts := []string{explained(t, "mermaid")}
	golden, err := filepath.Glob(filepath.Join(repository(t), "internal/explain/testdata/*.mermaid"))
	if err != nil || len(golden) == 0 {
		t.Fatal(golden, err)
	}
	for _, name := range golden {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(data))
	}
	var graphs []string
	for _, m := range regexp.MustCompile("(?s)```mermaid\n(.*?)\n```").FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
		graphs = append(graphs, m[1])
	}
	if len(graphs) < len(texts) {
		t.Fatalf("%d graphs in %d texts", len(graphs), len(texts))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/mermaid.min.js":
			http.ServeFile(w, r, filepath.Join(dir, "package/dist/mermaid.min.js"))
		case "/graphs.json":
			json.NewEncoder(w).Encode(graphs)
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, drawMermaid)
		}
	}))
	defer server.Close()
	var drawn []struct {
		Error          string
		Nodes, Clipped []string
		Edges          int
	}
	seen(t, &drawn, server.URL)
	if len(drawn) != len(graphs) {
		t.Fatalf("%d of %d graphs are drawn", len(drawn), len(graphs))
	}
	for i, g := range drawn {
		if g.Error != "" || len(g.Nodes) == 0 {
			t.Errorf("%s\n%s", g.Error, graphs[i])
			continue
		}
		if g.Edges < len(g.Nodes)-1 {
			t.Errorf("%d boxes have %d links:\n%s", len(g.Nodes), g.Edges, graphs[i])
		}
		if len(g.Clipped) > 0 {
			t.Errorf("cut off in their boxes: %q", g.Clipped)
		}
		known := map[string]bool{}
		for _, n := range g.Nodes {
			if known[n] {
				t.Errorf("two boxes say %q", n)
			}
			known[n] = true
		}
	}
}
