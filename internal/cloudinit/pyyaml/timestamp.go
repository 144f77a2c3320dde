package pyyaml

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
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

// splitTime matches a timestamp (yaml/constructor.py:317).
func splitTime(s string) (f timeFields, ok bool) {
	take := func(lo, hi int) string {
		n := min(span(s, digits), hi)
		if n < lo {
			return ""
		}
		t := s[:n]
		s = s[n:]
		return t
	}
	skip := func(c byte) bool {
		if s == "" || s[0] != c {
			return false
		}
		s = s[1:]
		return true
	}
	if f.year = take(4, 4); f.year == "" || !skip('-') {
		return f, false
	}
	if f.month = take(1, 2); f.month == "" || !skip('-') {
		return f, false
	}
	if f.day = take(1, 2); f.day == "" {
		return f, false
	}
	if s == "" {
		return f, true
	}
	if n := span(s, " \t"); n > 0 {
		s = s[n:]
	} else if !skip('T') && !skip('t') {
		return f, false
	}
	if f.hour = take(1, 2); f.hour == "" || !skip(':') {
		return f, false
	}
	if f.minute = take(2, 2); f.minute == "" || !skip(':') {
		return f, false
	}
	if f.second = take(2, 2); f.second == "" {
		return f, false
	}
	if skip('.') {
		n := span(s, digits)
		f.fraction, s = s[:n], s[n:]
	}
	if s == "" {
		return f, true
	}
	s = s[span(s, " \t"):]
	f.zone = true
	if skip('Z') {
		return f, s == ""
	}
	if s == "" || s[0] != '-' && s[0] != '+' {
		return f, false
	}
	f.zoneSign, s = s[0], s[1:]
	if f.zoneHour = take(1, 2); f.zoneHour == "" {
		return f, false
	}
	if skip(':') {
		if f.zoneMinute = take(2, 2); f.zoneMinute == "" {
			return f, false
		}
	}
	return f, s == ""
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
