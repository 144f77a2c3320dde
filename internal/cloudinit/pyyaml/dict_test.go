package pyyaml

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// plainDict is a Dict that is looked through one entry after the other.
type plainDict []Entry

func (d plainDict) find(key *Value) int {
	for i, e := range d {
		if Equal(e.Key, key) {
			return i
		}
	}
	return -1
}

func TestADictOfAnySizeHoldsWhatAPlainListWould(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	nan := &Value{Kind: Float, Float: math.NaN()}
	key := func() *Value {
		n := r.IntN(60)
		switch r.IntN(12) {
		case 0:
			return &Value{Kind: Float, Float: float64(n) / 2}
		case 1:
			return &Value{Kind: Bool, Bool: n%2 == 0}
		case 2:
			return &Value{Kind: Bytes, Str: string(rune('a' + n))}
		case 3:
			return &Value{Kind: Date, Time: Time{Year: 2000, Month: 1, Day: 1 + n%28}}
		case 4:
			return &Value{Kind: DateTime, Time: Time{Year: 2000, Month: 1, Day: 1, Hour: n % 24, HasZone: n%3 == 0, Offset: 60 * (n % 5)}}
		case 5:
			return []*Value{nan, {Kind: Float, Float: math.NaN()}, {Kind: Float, Float: math.Inf(1)}, {Kind: Float, Float: math.Copysign(0, -1)}, {Kind: Null}}[n%5]
		case 6:
			return &Value{Kind: Tuple, Items: []*Value{{Kind: Int, Int: big.NewInt(int64(n % 4))}}}
		case 7, 8:
			return &Value{Kind: Int, Int: big.NewInt(int64(n))}
		}
		return &Value{Kind: Str, Str: string(rune('a' + n))}
	}
	for range 50 {
		d, plain := &Value{Kind: Dict}, plainDict{}
		for step := range 400 {
			k := key()
			at := plain.find(k)
			switch r.IntN(4) {
			case 0:
				if d.Delete(k); at >= 0 {
					plain = append(plain[:at:at], plain[at+1:]...)
				}
			case 1:
				if d.Has(k) != (at >= 0) || at >= 0 && d.Lookup(k) != plain[at].Value {
					t.Fatalf("step %d: of %s: has %v, want %v", step, k.Repr(), d.Has(k), at >= 0)
				}
			default:
				v := &Value{}
				if d.Set(k, v); at >= 0 {
					plain[at].Value = v
				} else {
					plain = append(plain, Entry{k, v})
				}
			}
			if r.IntN(100) == 0 {
				d = d.Copy()
			}
			if len(d.Entries) != len(plain) {
				t.Fatalf("step %d: %s: %d entries, want %d", step, k.Repr(), len(d.Entries), len(plain))
			}
		}
		for i, e := range plain {
			if d.Entries[i] != e {
				t.Fatalf("entry %d is %s, want %s", i, d.Entries[i].Key.Repr(), e.Key.Repr())
			}
		}
	}
}
