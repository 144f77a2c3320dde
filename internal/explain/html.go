package explain

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// pageStyle is that of the page around the pictures.
const pageStyle = `:root{color-scheme:light dark;--ink:#1c2430;--soft:#566171;--page:#ffffff;--band:#f4f6f9;--line:#d5dbe4;--bad:#c0281e;--late:#8a5300;--yours:#a05f00;--kopshook:#0b7f74;--kops:#3a5fcd}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e6ebf2;--soft:#a3aebd;--page:#12161d;--band:#191f29;--line:#2e3744;--bad:#ff8b80;--late:#f0b354;--yours:#f0b354;--kopshook:#4fd1c1;--kops:#8ea8ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif}
nav{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;gap:4px 18px;padding:10px 36px;background:var(--band);border-bottom:1px solid var(--line);font-size:14px}
nav a{color:var(--ink);text-decoration:none}nav a:hover,nav a:focus{text-decoration:underline}nav .bad{color:var(--bad)}nav .late{color:var(--late)}
section{max-width:1080px;margin:0 auto 56px;scroll-margin-top:52px}
section>svg{width:100%;height:auto;display:block}
.body{padding:0 36px}
h2{font-size:17px;margin:28px 0 8px}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th,td{text-align:left;vertical-align:top;padding:6px 14px 6px 0;border-bottom:1px solid var(--line)}
th{color:var(--soft);font-weight:600}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:12.5px}
td code,td a,h1,h2,p{overflow-wrap:anywhere}td:last-child code{overflow-wrap:break-word}td .dir{overflow-wrap:anywhere}
h1{font-size:22px;margin:28px 0 8px}.verdict{font-weight:650;margin:4px 0}a{color:inherit}.narrow,.print{display:none}
@media screen and (max-width:720px){.narrow{display:block}section>svg,thead{display:none}nav{padding:8px 14px}.body{padding:0 14px}table,tbody,tr,td{display:block}tr{border-bottom:1px solid var(--line);padding:6px 0}td{border:0;padding:1px 0}td:empty{display:none}td[data-label]::before{content:attr(data-label);color:var(--soft);font-weight:400}}
.yours{color:var(--yours)}.kopshook{color:var(--kopshook)}.kops{color:var(--kops)}.bad{color:var(--bad)}.late{color:var(--late)}.blocks{font-weight:600}.number{white-space:nowrap}.soft{color:var(--soft)}
details{margin-top:16px;border:1px solid var(--line);border-radius:8px;padding:8px 14px}summary{cursor:pointer;font-weight:600}
pre{overflow:auto;margin:10px 0 4px}
@media print{@page{margin:10mm}body{print-color-adjust:exact;-webkit-print-color-adjust:exact}nav,details{display:none}section{max-width:none;margin:0;break-after:page}section:last-child{break-after:auto}section>svg{width:100%;max-height:97vh}.body{break-before:page;padding:0}.print{display:table-row}tr{break-inside:avoid}}`

// HTML prints one page with everything about all instance groups. It needs no network.
func HTML(w io.Writer, all []*Timeline) error {
	var b strings.Builder
	title := "what the nodes do"
	if len(all) == 1 {
		title = all[0].title() + ": what a node does"
	}
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>%s</title>\n<style>\n%s\n</style>\n</head>\n<body>\n", escaped(title), pageStyle)
	rows := make([]Row, len(all))
	for i, t := range all {
		rows[i] = t.Row()
	}
	folded := Fold(all)
	if len(all) > 1 {
		navigation(&b, folded)
		groupTable(&b, rows, folded)
	}
	for i, t := range folded {
		if err := htmlSection(&b, t, i); err != nil {
			return err
		}
	}
	b.WriteString("</body>\n</html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func escaped(s string) string { return html.EscapeString(clean(s)) }

func navigation(b *strings.Builder, folded []*Timeline) {
	b.WriteString("<nav>\n")
	for i, t := range folded {
		note := ""
		switch r := t.Row(); {
		case r.Bad:
			note = fmt.Sprintf(` <span class="bad">%s</span>`, escaped(t.Verdict.Label()))
		case r.Late:
			note = ` <span class="late">maybe too late</span>`
		}
		fmt.Fprintf(b, "<a href=\"#g%d\">%s%s</a>\n", i, escaped(t.title()), note)
	}
	b.WriteString("</nav>\n")
}

// groupTable is a table of all groups, with links to their sections.
func groupTable(b *strings.Builder, rows []Row, folded []*Timeline) {
	b.WriteString("<section><div class=\"body\">\n<h1>Instance groups</h1>\n<table>\n<thead><tr><th>instance group</th><th>outcome</th><th>kubelet waits at most</th><th>size</th><th>lost</th></tr></thead>\n<tbody>\n")
	for _, r := range rows {
		at := slices.IndexFunc(folded, func(t *Timeline) bool { return slices.Contains(t.Same, r.Group) })
		outcome := escaped(r.Outcome)
		why := r.Why
		if r.Bad {
			_, why, _ = strings.Cut(why, ": ") // the outcome stands there already
		}
		if why != "" {
			outcome += "<br><span class=\"soft\">" + escaped(why) + "</span>"
		}
		fmt.Fprintf(b, "<tr><td><a href=\"#g%d\">%s</a></td><td%s>%s</td><td%s>%s</td><td class=\"number\"%s>%s</td><td class=\"number\"%s>%s</td></tr>\n",
			at, escaped(r.Group), r.class(), outcome, labeled("the kubelet waits at most", r.Waits), escaped(r.Waits), labeled("size", r.Size), escaped(r.Size), labeled("lost", r.Lost), r.Lost)
	}
	b.WriteString("</tbody>\n</table>\n</div></section>\n")
}

// htmlSection is what there is to say of one group, or of several that are the same.
func htmlSection(b *strings.Builder, t *Timeline, i int) error {
	fmt.Fprintf(b, "<section id=\"g%d\">\n", i)
	class := "verdict"
	switch {
	case t.Verdict.Bad():
		class = "verdict bad"
	case t.late():
		class = "verdict late"
	}
	fmt.Fprintf(b, "<div class=\"body narrow\"><h2>%s</h2><p class=\"%s\">%s</p><p>%s</p></div>\n", escaped(t.title()), class, escaped(t.headline()), escaped(t.waitsFor()))
	if len(t.Same) > 1 {
		fmt.Fprintf(b, "<div class=\"body\"><p>The same for %d groups: %s</p></div>\n", len(t.Same), escaped(strings.Join(t.Same, ", ")))
	}
	b.WriteString(drawing(t, fmt.Sprintf("g%d-", i)))
	b.WriteString("<div class=\"body\">\n")
	stepTable(b, t)
	if t.config != nil && len(t.config.Entries) > 0 {
		config, err := yaml.JSONToYAML(valueJSON(t.config))
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "<details><summary>the cloud-config that takes effect</summary>\n<pre>%s</pre>\n</details>\n", html.EscapeString(clean2(string(config))))
	}
	b.WriteString("</div>\n</section>\n")
	return nil
}

// labeled is what says on a narrow page, which has no heads of columns, what a cell holds.
func labeled(label, cell string) string {
	if cell == "" {
		return ""
	}
	return fmt.Sprintf(" data-label=%q", label+": ")
}

// clean2 is clean for text of several lines.
func clean2(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

// placeHTML is a place that is broken in its folders, never in the number of its line.
func placeHTML(place string) string {
	i := strings.LastIndex(place, "/") + 1
	folder, file := html.EscapeString(clean(place[:i])), html.EscapeString(clean(place[i:]))
	if folder == "" {
		return file
	}
	return `<span class="dir">` + strings.ReplaceAll(folder, "/", "/<wbr>") + "</span>" + file
}

// stepTable says what the picture says, in full and for searching.
func stepTable(b *strings.Builder, t *Timeline) {
	fmt.Fprintf(b, "<h2>%s: step by step</h2>\n", escaped(t.title()))
	printed := fmt.Sprintf("<tr class=\"print\"><th colspan=\"6\">%s</th></tr>", escaped(t.title())) // on each page of paper
	b.WriteString("<table>\n<thead>" + printed + "<tr><th>stage</th><th>step</th><th>whose</th><th>when</th><th>if it fails</th><th>where</th></tr></thead>\n<tbody>\n")
	for _, s := range t.Stages {
		for i, st := range s.Steps {
			stage := ""
			if i == 0 {
				stage = s.Title
			}
			when := "first boot"
			if st.EveryBoot {
				when = "every boot"
			}
			if st.Never {
				when = "never"
			}
			class := ""
			if st.Blocks {
				class = ` class="blocks"`
			}
			name := "<code>" + html.EscapeString(clean(st.Name)) + "</code>"
			if st.Detail != "" {
				look := map[bool]string{true: "bad", false: "soft"}[st.Ends]
				name += "<br><span class=\"" + look + "\">" + html.EscapeString(clean(st.Detail)) + "</span>"
			}
			if st.Also != "" {
				name += "<br><span class=\"soft\">" + html.EscapeString(clean(st.Also)) + "</span>"
			}
			fmt.Fprintf(b, "<tr><td>%s</td><td>%s</td><td class=\"%s\"%s>%s</td><td%s>%s</td><td%s%s>%s</td><td><code>%s</code></td></tr>\n",
				html.EscapeString(stage), name, st.Owner, labeled("whose", string(st.Owner)), st.Owner, labeled("when", when), when,
				class, labeled("if it fails", st.Fails), html.EscapeString(clean(st.Fails)), placeHTML(st.Place))
		}
	}
	b.WriteString("</tbody>\n</table>\n")
	if len(t.Lost) == 0 {
		return
	}
	fmt.Fprintf(b, "<h2 class=\"bad\">%s: lost or changed</h2>\n", escaped(t.title()))
	b.WriteString("<table>\n<thead>" + printed + "<tr><th>what</th><th>why</th><th>where</th></tr></thead>\n<tbody>\n")
	for _, l := range t.Lost {
		fmt.Fprintf(b, "<tr><td>%s</td><td>%s</td><td><code>%s</code></td></tr>\n", html.EscapeString(clean(l.What)), html.EscapeString(clean(l.Why)), placeHTML(l.Place))
	}
	b.WriteString("</tbody>\n</table>\n")
}
