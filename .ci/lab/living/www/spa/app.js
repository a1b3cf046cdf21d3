const api = location.protocol + "//api.living.test:" + 8480;
const root = document.getElementById("root");
customElements.define("live-card", class extends HTMLElement {
  connectedCallback() { const s = this.attachShadow({mode: "open"}); s.innerHTML = `<p>card ${this.getAttribute("n")}</p><a href="/items/${this.getAttribute("n")}">item ${this.getAttribute("n")}</a><img src="${api}/p${this.getAttribute("n")}.svg" width=20 height=20>`; }
});
async function show() {
  const path = location.pathname;
  if (path === "/" || path === "/index.html") {
    root.innerHTML = "<h1>Spa home</h1>";
    const items = await (await fetch(api + "/v1/items?limit=3&_=" + Date.now(), {headers: {Accept: "application/json"}})).json();
    for (const i of items.items) { const c = document.createElement("live-card"); c.setAttribute("n", i); root.append(c); }
    const more = document.createElement("div"); more.style.height = "3000px"; root.append(more);
    const end = document.createElement("p"); root.append(end);
    let n = 0; new IntersectionObserver(async (e) => { if (e[0].isIntersecting && n < 2) { n++; const r = await (await fetch("/more/" + n + ".json")).json(); more.insertAdjacentHTML("beforebegin", `<p>${r.text}</p>`); } }).observe(end);
  } else if (path.startsWith("/items/")) {
    const r = await (await fetch(api + "/v1/items/" + path.split("/")[2])).json();
    root.innerHTML = `<h1>${r.said}</h1><a href="/">home</a>`;
    const m = await import(new URL("./lazy.js", import.meta.url).href); root.insertAdjacentHTML("beforeend", m.default);
  } else root.innerHTML = "<h1>404 in the router</h1>";
}
addEventListener("popstate", show);
addEventListener("click", (e) => { const a = e.composedPath().find((x) => x.localName === "a"); if (a && a.origin === location.origin) { e.preventDefault(); history.pushState({}, "", a.href); show(); } });
navigator.serviceWorker?.register("/sw.js").catch(() => {});
show();
