// Opens the capture below the banner, and keeps the banner in step with it: captures say where they are.
const frame = document.getElementById("capture");
const old = /^http:\/\/localhost:\d+\/web\/(\d+)[a-z]+_\/(.*)$/s;
let shown = location.pathname + location.search;

// A browser that does not lead *.localhost to this machine shows captures at their older addresses. A name that says
// nothing of the capture tries it out.
(async () => {
  const {asks, place, old} = frame.dataset;
  const finds = place && await fetch(asks, {signal: AbortSignal.timeout(3000)}).then((a) => a.ok, () => false);
  frame.src = finds ? place : old;
})();

addEventListener("message", async (event) => {
  if (event.source !== frame.contentWindow || typeof event.data?.henro !== "string") return;
  const m = old.exec(event.data.henro);
  const capture = m ? m[1] + "/" + m[2] : event.data.henro;
  const answer = await fetch("/capture/" + capture);
  // Our own page says more, and has the search. An address that a script made up is none of a page that is missing.
  if (answer.status === 404 && !event.data.made) location.replace("/web/" + capture);
  if (!answer.ok) return;
  const d = await answer.json();
  const at = (stamp) => "/web/" + stamp + "/" + d.URL;
  const set = (id, text) => { document.getElementById(id).textContent = text; };
  const lead = (id, to) => {
    const a = document.getElementById(id);
    to ? a.setAttribute("href", to) : a.removeAttribute("href");
  };
  set("url", d.URL); set("at", d.At); set("since", d.Unchanged); set("number", d.Number); set("all", d.Count);
  document.getElementById("unchanged").hidden = !d.Unchanged;
  lead("url", at("*")); lead("count", at("*")); lead("raw", at(d.Stamp + "id_"));
  lead("previous", d.Previous && at(d.Previous)); lead("next", d.Next && at(d.Next));
  document.title = d.URL + " – " + d.At;
  if (at(d.Stamp) !== shown) {
    shown = at(d.Stamp);
    history.replaceState(null, "", shown); // the frame has its own history: one step back is one page back
  }
});
