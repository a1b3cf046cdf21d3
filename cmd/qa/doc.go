// Package qa compares pages as the web shows them with their captures, in the same Chromium.
//
// A page is opened twice: live, and in the frame of the replay. Of both the requests, the visible text and a picture of
// the first screen are kept and compared. What the live page asked for is also looked up in the archive, so that a
// requisite that the replay does not need, or asks for by another name, is still missed.
//
// # Invariants
//
//   - The browser has a profile folder of its own, which is removed, and ends with the context.
//   - Each page has a limit of time, of requests and of text; pictures of one page at a time are held.
//   - What a page says is text in the report: html/template escapes it.
package qa
