// Package browser renders pages in one Chromium of a slave, below the rules of whoever asks: all that a page asks for
// is answered by a Source, and nothing of Chromium reaches a network.
//
// Chromium knows one way out, a proxy inside this process on loopback, which dials nobody. It answers only who has the
// token of the page under way, which Chromium is told through its pipe; the certificate of the proxy is made for one
// Chromium, kept in memory and trusted by no other program. QUIC, WebRTC, DNS, WebTransport, service workers,
// downloads, popups, permissions and Chromium's own services are closed.
//
// Chromium ends with this process: on Linux by the signal of a parent's death, elsewhere since its pipe ends. What is
// left of one is ended at the next start, if its command line names the profile of this slave. A page that crashes it,
// hangs or takes too much memory costs an error, and the next page has a new Chromium.
package browser
