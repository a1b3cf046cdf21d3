// Keeps the banner in step with the frame below it, whose captures say where they are.
const frame = document.getElementById("capture");
const place = /^\/web\/(\d+)[a-z]+_\/(.*)$/s;
let shown = location.pathname + location.search;

addEventListener("message", async (event) => {
  if (event.source !== frame.contentWindow || typeof event.data?.henro !== "string") return;
  const m = place.exec(event.data.henro);
  if (!m) return;
  const answer = await fetch("/capture/" + m[1] + "/" + m[2]);
  if (answer.status === 404) location.replace("/web/" + m[1] + "/" + m[2]); // our own page says more, and has the search
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
  lead("url", at("*")); lead("count", at("*") + "#versions"); lead("raw", at(d.Stamp + "id_"));
  lead("previous", d.Previous && at(d.Previous)); lead("next", d.Next && at(d.Next));
  document.title = d.URL + " – " + d.At;
  if (at(d.Stamp) !== shown) {
    shown = at(d.Stamp);
    history.replaceState(null, "", shown); // the frame has its own history: one step back is one page back
  }
});
