package boot

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// stamped is an event with the wall clock's time, as the node's streams give it.
type stamped struct {
	time time.Time
	Event
}

// Message ids of systemd: catalog/systemd.catalog.in and src/systemd/sd-messages.h of its source.
const (
	messageStarting = "7d4958e842da4a758f6c1cdc7b36dcc5"
	messageStarted  = "39f53479d3a045ac8e11786248231fbf"
	messageFailed   = "be02cf6855d2428ba40df7e9d022f03d"
	messageStopping = "de5b426a63be47a7b6ac3eaac82e2f6f"
	messageStopped  = "9d1aaa27d60140bd96365438aad20286"
	messageSkipped  = "0e4284a0caca4bfc81c0bb6786972673"
	messageResult   = "d9b373ed55a64feb8242e02dbe79a49c" // "Failed with result ..."
)

// entry is what the stand-in trial-journal.service passes on of a journal entry.
type entry struct {
	Realtime   string          `json:"__REALTIME_TIMESTAMP"`
	Source     string          `json:"_SOURCE_REALTIME_TIMESTAMP"`
	Message    json.RawMessage `json:"MESSAGE"`
	MessageID  string          `json:"MESSAGE_ID"`
	Identifier string          `json:"SYSLOG_IDENTIFIER"`
	From       string          `json:"_SYSTEMD_UNIT"`
	Unit       string          `json:"UNIT"`
	JobType    string          `json:"JOB_TYPE"`
	JobResult  string          `json:"JOB_RESULT"`
	UnitResult string          `json:"UNIT_RESULT"`
}

// parseEntry turns a line of journalctl's JSON into an event; ok is false when nobody wants to know.
func parseEntry(line []byte) (event stamped, ok bool, err error) {
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		return stamped{}, false, fmt.Errorf("not a journal entry: %w", err)
	}
	micros := e.Source // when it was sent; the other one is when journald came to it
	if micros == "" {
		micros = e.Realtime
	}
	n, err := strconv.ParseInt(micros, 10, 64)
	if err != nil {
		return stamped{}, false, fmt.Errorf("not a journal entry: %w", err)
	}
	event.time = time.UnixMicro(n)
	if e.Unit != "" {
		event.Event, ok = e.aboutUnit()
		return event, ok, nil
	}
	if followed(e.From) && e.Identifier != "systemd" {
		event.Event = Event{Name: "log", Unit: e.From, Text: text(e.Message)}
		return event, true, nil
	}
	if strings.Contains(text(e.Message), "ordering cycle") {
		event.Event = Event{Name: "ordering cycle", Text: text(e.Message)}
		return event, true, nil
	}
	return stamped{}, false, nil
}

// aboutUnit is for what the service manager says about a unit.
func (e entry) aboutUnit() (Event, bool) {
	verb, detail := "", ""
	switch e.MessageID {
	case messageStarting:
		verb = "starting"
	case messageStarted:
		verb = "started"
	case messageStopping:
		verb = "stopping"
	case messageStopped:
		verb = "stopped"
	case messageSkipped:
		verb = "skipped"
	case messageResult:
		verb, detail = "failed", e.UnitResult
	case messageFailed:
		switch e.JobResult {
		case "assert":
			verb = "refused"
		case "dependency":
			verb, detail = "failed", e.JobResult
		default: // said by messageResult too
			return Event{}, false
		}
	default:
		if strings.Contains(text(e.Message), "ordering cycle") {
			return Event{Name: "ordering cycle", Unit: e.Unit, Text: text(e.Message)}, true
		}
		return Event{}, false
	}
	bad := verb == "failed" || verb == "refused"
	if !bad && !followed(e.Unit) {
		return Event{}, false
	}
	return Event{Name: verb + " " + e.Unit, Unit: e.Unit, Text: detail}, true
}

// followed says whether unit is one whose life is told in the timeline.
func followed(unit string) bool {
	switch unit {
	case "kops-configuration.service", "kubelet.service", "containerd.service", "sysinit.target", "multi-user.target",
		"network-online.target", "shutdown.target":
		return true
	}
	return strings.HasPrefix(unit, "kopshook-") || strings.HasPrefix(unit, "cloud-") && !strings.HasSuffix(unit, ".socket")
}

// text decodes a MESSAGE: a string, an array of bytes when it is not UTF-8, or null when it is too large.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var b []byte
	var numbers []int
	if json.Unmarshal(raw, &numbers) == nil {
		for _, n := range numbers {
			b = append(b, byte(n))
		}
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// parseEvent reads a line of the stand-in "event": "SECONDS.MICROSECONDS NAME".
func parseEvent(line string) (stamped, error) {
	when, name, ok := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
	seconds, fraction, dot := strings.Cut(when, ".")
	s, err1 := strconv.ParseInt(seconds, 10, 64)
	us, err2 := strconv.ParseInt(fraction, 10, 64)
	if !ok || !dot || len(fraction) != 6 || err1 != nil || err2 != nil {
		return stamped{}, fmt.Errorf("not an event: %q", line)
	}
	return stamped{time: time.Unix(s, us*1000), Event: Event{Name: name}}, nil
}
