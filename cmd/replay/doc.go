// Package replay shows an archive in a browser, without a single request to the live web.
//
// Everything is served on loopback from the merged index and the WARC files beside it. A page of the archive comes in
// three forms, under addresses as the Internet Archive shapes them:
//
//	/web/*/URL         all captures of a page, as a calendar; /web/2026*/URL those of a year
//	/web/TIME/URL      a capture in a frame below a banner: what a person opens
//	/web/TIMEmp_/URL   the capture itself, without its scripts: the memento of RFC 7089
//	/web/TIMEid_/URL   the capture byte for byte, as the server sent it
//	/timegate/URL      leads to the memento nearest to Accept-Datetime
//	/timemap/link/URL  lists all mementos
//
// # No request leaves the machine
//
// Each captured origin is shown under a name of its own (package origin), so that all relative links, and scripts with
// paths, modules and storage, work as they did. Links of HTML and CSS that name an origin are rewritten where they
// stand, byte for byte around them. What a script asks of another origin is led to where that is shown, by a script
// that is put into every page before all others; what escapes it meets the content security policy, which knows no
// other origins than those of the archive. Service workers of pages are refused: one would outlive the capture, and
// answer without a policy. Wombat, which rewrites what scripts do, is licensed under the AGPL and so no part of this.
//
// # Our origin and theirs
//
// Captures run under other names and another port (*.archive.localhost) than our own pages (127.0.0.1), in a sandboxed
// frame that can neither open windows nor leave it: the policy of the page with the banner keeps the frame from being
// led elsewhere. Their origins answer captures alone, to each other too: which answers allowed that on the live web is
// not looked at. Whatever is not in the frame (a capture opened by itself, one asked for at the port of our own pages,
// one byte for byte) is sealed: no scripts, no origin, nothing fetched; bytes as the server sent them are a download.
// What a browser marks as asked by a page of another site is refused.
//
// WebRTC and a link element with rel=preconnect connect to any machine, whatever a policy says. In Chromium the field
// Connection-Allowlist governs them: no connection but to the archive (Chromium 156 ends a page whose inner frame tries
// WebRTC in spite of it). For other browsers, the script that is put into every page takes WebRTC away, from the window
// of the page and from those that the page makes within itself. There a preconnect remains, and a race: a capture may
// find a frame of its own that was just loaded before the script of that frame has run. Options.NoScripts closes both.
// Only HTML runs scripts in a frame. Everything else that is shown there has no origin, nor has the page of an error,
// so that no capture reaches their windows.
//
// # Invariants
//
//   - No code here dials: what is not in the archive is 404.
//   - A revisit shows what it refers to, under its own date.
//   - Bytes are streamed. The memory of all captures that are being shown is bounded: see budget.
package replay
