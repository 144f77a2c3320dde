package pyyaml

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// isTimestamp: 2001-12-14, or a date and a time as parseTime takes them (yaml/resolver.py:206). Unlike there, a date
// alone has two digits for month and day.
func isTimestamp(s string) bool {
	f, ok := splitTime(s)
	return ok && (f.hour != "" || len(s) == len("2001-12-14"))
}

// timeFields are the fields of a timestamp as written.
type timeFields struct {
	year, month, day, hour, minute, second, fraction string
	zone                                             bool // Z or an offset
	zoneSign                                         byte
	zoneHour, zoneMinute                             string
}

// timestamp is the pattern of yaml/constructor.py:317. Few texts have one: it is compiled when it is needed.
var timestamp = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]{4})-([0-9][0-9]?)-([0-9][0-9]?)` +
		`(?:(?:[Tt]|[ \t]+)([0-9][0-9]?):([0-9][0-9]):([0-9][0-9])(?:\.([0-9]*))?` +
		`(?:[ \t]*(Z|([-+])([0-9][0-9]?)(?::([0-9][0-9]))?))?)?$`)
})

// splitTime matches a timestamp.
func splitTime(s string) (f timeFields, ok bool) {
	if span(s, digits) != 4 || len(s) == 4 || s[4] != '-' {
		return f, false
	}
	m := timestamp().FindStringSubmatch(s)
	if m == nil {
		return f, false
	}
	f = timeFields{year: m[1], month: m[2], day: m[3], hour: m[4], minute: m[5], second: m[6], fraction: m[7],
		zone: m[8] != "", zoneHour: m[10], zoneMinute: m[11]}
	if f.zone && m[9] != "" {
		f.zoneSign = m[9][0]
	}
	return f, true
}

// parseTime makes a date or a datetime (yaml/constructor.py:328). What Python's datetime refuses is an error.
func parseTime(s string) (Time, Kind, error) {
	f, ok := splitTime(strings.TrimSuffix(s, "\n"))
	if !ok {
		return Time{}, 0, &Error{Msg: "not a timestamp", Uncaught: true}
	}
	t := Time{Year: atoi(f.year), Month: atoi(f.month), Day: atoi(f.day)}
	if t.Year == 0 || t.Month < 1 || t.Month > 12 || t.Day < 1 || t.Day > daysIn(t.Year, t.Month) {
		return t, 0, &Error{Msg: fmt.Sprintf("there is no date %s", s)}
	}
	if f.hour == "" {
		return t, Date, nil
	}
	t.Hour, t.Minute, t.Second = atoi(f.hour), atoi(f.minute), atoi(f.second)
	if t.Hour > 23 || t.Minute > 59 || t.Second > 59 {
		return t, 0, &Error{Msg: fmt.Sprintf("there is no time %s", s)}
	}
	if f.fraction != "" {
		t.Microsecond = atoi((f.fraction + "00000")[:6])
	}
	t.HasZone = f.zone
	if f.zoneSign != 0 {
		t.Offset = atoi(f.zoneHour)*60 + atoi(f.zoneMinute)
		if t.Offset >= 24*60 {
			return t, 0, &Error{Msg: fmt.Sprintf("there is no time zone of %s", s)}
		}
		if f.zoneSign == '-' {
			t.Offset = -t.Offset
		}
	}
	return t, DateTime, nil
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// utc is the time in UTC. Dates are midnights, and times without a zone are taken as they stand.
func (t Time) utc() time.Time {
	return time.Date(t.Year, time.Month(t.Month), t.Day, t.Hour, t.Minute-t.Offset, t.Second, t.Microsecond*1000, time.UTC)
}

// Compare orders times.
func (t Time) Compare(u Time) int { return t.utc().Compare(u.utc()) }

// date is Python's str() of a date.
func (t Time) date() string { return fmt.Sprintf("%04d-%02d-%02d", t.Year, t.Month, t.Day) }

// dateTime is Python's str() of a datetime.
func (t Time) dateTime() string {
	s := fmt.Sprintf("%s %02d:%02d:%02d", t.date(), t.Hour, t.Minute, t.Second)
	if t.Microsecond != 0 {
		s += fmt.Sprintf(".%06d", t.Microsecond)
	}
	if !t.HasZone {
		return s
	}
	sign, o := '+', t.Offset
	if o < 0 {
		sign, o = '-', -o
	}
	return s + fmt.Sprintf("%c%02d:%02d", sign, cmp.Or(o/60, 0), o%60)
}
