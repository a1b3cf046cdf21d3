package weburl

import (
	"bytes"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// domainToASCII is UTS #46 as the URL Standard wants it: nontransitional, no check of hyphens and lengths, bidi and
// joiners checked. DNS will have its own opinion.
var domainToASCII = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.CheckJoiners(true),
	idna.CheckHyphens(false), idna.StrictDomainName(false), idna.VerifyDNSLength(false))

// unicode16 are the mappings that UTS #46 gained after the version in golang.org/x/net (Unicode 15.0).
var unicode16 = func() *strings.Replacer {
	pairs := []string{"\u1E9E", "\u00DF", "\u04C0", "\u04CF", "\u2132", "\u214E", "\u2183", "\u2184",
		"\U0002F868", "\u36FC", "\U0002F874", "\u5F33", "\U0002F91F", "\U000243AB", "\U0002F95F", "\u7AEE",
		"\U0002F9BF", "\u45D7"}
	for r := rune(0x10A0); r <= 0x10C5; r++ {
		pairs = append(pairs, string(r), string(r-0x10A0+0x2D00))
	}
	for _, ignored := range []string{"\u115F", "\u1160", "\u17B4", "\u17B5", "\u180E", "\u3164", "\uFFA0"} {
		pairs = append(pairs, ignored, "")
	}
	return strings.NewReplacer(pairs...)
}()

// host is the host parser; it appends the serialized host.
func (p *parser) host(s string) error {
	start := len(p.out)
	if s[0] == '[' {
		if s[len(s)-1] != ']' {
			return ErrHost
		}
		return p.ipv6(s[1 : len(s)-1])
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if class[c]&inHost == 0 {
			p.out = p.out[:start]
			var err error
			if s, err = unusualHost(s); err != nil {
				return err
			}
			p.out = append(p.out, s...)
			break
		}
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		p.out = append(p.out, c)
	}
	if !p.exact {
		for len(p.out) > start && p.out[len(p.out)-1] == '.' {
			p.out = p.out[:len(p.out)-1]
		}
		if len(p.out) == start {
			return ErrHost
		}
	}
	if endsInNumber(p.out[start:]) {
		address, err := ipv4(string(p.out[start:]))
		if err != nil {
			return err
		}
		p.out = address.AppendTo(p.out[:start])
	}
	return nil
}

// unusualHost decodes percent-encodings and maps an international domain name to ASCII.
func unusualHost(s string) (string, error) {
	if strings.IndexByte(s, '%') >= 0 {
		decoded := make([]byte, 0, len(s))
		for i := 0; i < len(s); i++ {
			if s[i] == '%' && i+2 < len(s) && class[s[i+1]]&hexDigit != 0 && class[s[i+2]]&hexDigit != 0 {
				decoded = append(decoded, unhex(s[i+1])<<4|unhex(s[i+2]))
				i += 2
			} else {
				decoded = append(decoded, s[i])
			}
		}
		s = string(decoded)
	}
	if isASCII(s) { // also "xn--a", which is no Punycode: so the URL Standard since June 2026, and browsers long before
		s = strings.ToLower(s)
	} else {
		var err error
		if s, err = domainToASCII.ToASCII(unicode16.Replace(strings.ToValidUTF8(s, "\uFFFD"))); err != nil {
			return "", ErrHost
		}
	}
	if s == "" {
		return "", ErrHost
	}
	for i := 0; i < len(s); i++ {
		if class[s[i]]&inHost == 0 {
			return "", ErrHost
		}
	}
	return s, nil
}

// endsInNumber is the ends-in-a-number checker: such hosts are IPv4 addresses or nothing.
func endsInNumber(host []byte) bool {
	end := len(host)
	if host[end-1] == '.' {
		end--
	}
	if end == 0 {
		return false
	}
	start := end
	for start > 0 && host[start-1] != '.' {
		start--
	}
	last := host[start:end]
	if len(last) == 0 || last[0] < '0' || last[0] > '9' {
		return false
	}
	if hex, is := bytes.CutPrefix(last, []byte("0x")); is {
		return !slices.ContainsFunc(hex, func(c byte) bool { return class[c]&hexDigit == 0 })
	}
	return !slices.ContainsFunc(last, func(c byte) bool { return c < '0' || c > '9' })
}

// ipv4 reads one to four decimal, octal or hexadecimal numbers.
func ipv4(s string) (netip.Addr, error) {
	parts := strings.Split(strings.TrimSuffix(s, "."), ".")
	if len(parts) > 4 {
		return netip.Addr{}, ErrHost
	}
	var address uint64
	for i, part := range parts {
		base := 10
		switch {
		case part == "":
			return netip.Addr{}, ErrHost
		case len(part) >= 2 && part[:2] == "0x":
			part, base = part[2:], 16
		case len(part) >= 2 && part[0] == '0':
			part, base = part[1:], 8
		}
		var n uint64
		if part != "" {
			for j := 0; j < len(part); j++ {
				if class[part[j]]&hexDigit == 0 { // ParseUint would take signs and underscores
					return netip.Addr{}, ErrHost
				}
			}
			var err error
			if n, err = strconv.ParseUint(part, base, 64); err != nil {
				return netip.Addr{}, ErrHost
			}
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, ErrHost
			}
			address = address<<8 | n
			continue
		}
		rest := 8 * (5 - len(parts))
		if n >= 1<<rest {
			return netip.Addr{}, ErrHost
		}
		address = address<<rest | n
	}
	return netip.AddrFrom4([4]byte{byte(address >> 24), byte(address >> 16), byte(address >> 8), byte(address)}), nil
}

// ipv6 appends an address in brackets, the longest run of zeros compressed.
func (p *parser) ipv6(s string) error {
	address, err := netip.ParseAddr(s)
	if err != nil || !address.Is6() || address.Zone() != "" || strings.IndexByte(s, '%') >= 0 {
		return ErrHost
	}
	b := address.As16()
	var pieces [8]uint16
	for i := range pieces {
		pieces[i] = uint16(b[2*i])<<8 | uint16(b[2*i+1])
	}
	from, length := -1, 1
	for i := 0; i < 8; i++ {
		j := i
		for j < 8 && pieces[j] == 0 {
			j++
		}
		if j-i > length {
			from, length = i, j-i
		}
		if j > i {
			i = j
		}
	}
	p.out = append(p.out, '[')
	for i := 0; i < 8; i++ {
		if i == from {
			if i == 0 {
				p.out = append(p.out, ':')
			}
			p.out = append(p.out, ':')
			i += length - 1
			continue
		}
		p.out = strconv.AppendUint(p.out, uint64(pieces[i]), 16)
		if i < 7 {
			p.out = append(p.out, ':')
		}
	}
	p.out = append(p.out, ']')
	return nil
}

// HostOf cuts the host, "scheme://name[:port]", out of a canonical URL.
func HostOf(url string) string {
	scheme := strings.Index(url, "://")
	if scheme < 0 {
		return url
	}
	rest := url[scheme+3:]
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		return url[:scheme+3] + rest[at+1:]
	}
	return url[:scheme+3+len(rest)]
}
