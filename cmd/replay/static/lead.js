{const here = /^http:\/\/0?([a-z2-7]{6}\d{14})-[^:]*?(\.localhost:\d+)$/.exec(self.origin), page = self.document;
page?.currentScript?.remove();
if (here) {
  const [, moment, tail] = here;
  const to = (ref) => {
    if (!/^\s*(https?:|[/\\]{2})/i.test(ref)) return ref;
    let u;
    try { u = new URL(ref, page?.baseURI ?? location.href); } catch { return ref; }
    const name = u.hostname, label = moment + "-" + (u.protocol === "https:" ? "s" : "h") + u.port + "-" + name.replace(/-/g, "--").replace(/\./g, "-");
    if (name.endsWith(".localhost") || label.length > 63 || /[^a-z0-9.-]|\.-|-$/.test(name)) return ref;
    return "http://" + label + tail + u.pathname + u.search + u.hash;
  };
  const wrap = (of, name, by) => { if (typeof of?.[name] === "function") of[name] = by(of[name]); };
  const made = (name, at = 0) => { const old = self[name]; if (old) self[name] = new Proxy(old, {construct: (t, args, n) => { if (args.length > at && !(args[at] instanceof old)) args[at] = to(String(args[at])); return Reflect.construct(t, args, n); }}); };
  const Asked = self.Request;
  for (const name of ["Request", "EventSource", "Worker", "SharedWorker"]) made(name);
  wrap(self, "fetch", (old) => function (what, ...more) { return old.call(this, what instanceof Asked ? what : to(String(what)), ...more); });
  wrap(self.XMLHttpRequest?.prototype, "open", (old) => function (method, ref, ...more) { return old.call(this, method, to(String(ref)), ...(more.length ? more : [true])); });
  wrap(self, "importScripts", (old) => function (...all) { return old.apply(this, all.map((ref) => to(String(ref)))); });
  if (page) {
    const list = (all) => all.replace(/(^|,)(\s*)(\S+)/g, (_, comma, space, ref) => comma + space + to(ref));
    const names = ["src", "href", "srcset", "imagesrcset", "poster", "data", "action", "formaction"];
    const isLink = (e) => e.localName === "a" || e.localName === "area";
    const led = (name, value) => /srcset$/i.test(name) ? list(String(value)) : to(String(value));
    wrap(Element.prototype, "setAttribute", (old) => function (name, value) { return old.call(this, name, names.includes(String(name).toLowerCase()) && !isLink(this) ? led(name, value) : value); });
    for (const [type, all] of Object.entries({Image: ["src", "srcset"], Script: ["src"], Link: ["href", "imageSrcset"], IFrame: ["src"], Frame: ["src"], Source: ["src", "srcset"], Media: ["src"], Video: ["poster"], Track: ["src"], Embed: ["src"], Object: ["data"], Form: ["action"], Input: ["src", "formAction"], Button: ["formAction"]})) {
      const own = self["HTML" + type + "Element"]?.prototype;
      for (const name of all) {
        const d = own && Object.getOwnPropertyDescriptor(own, name);
        if (d?.set) Object.defineProperty(own, name, {...d, set(value) { d.set.call(this, led(name, value)); }});
      }
    }
    const fix = (e) => {
      if (!isLink(e)) for (const name of names) {
        const was = e.getAttribute(name), is = was && led(name, was);
        if (is !== was) e.setAttribute(name, is);
      }
    };
    const watch = (root) => new MutationObserver((all) => {
      for (const m of all) for (const e of m.addedNodes) if (e.nodeType === 1) { fix(e); for (const inner of e.querySelectorAll("[src],[srcset],[href],[imagesrcset],[poster],[data],[action],[formaction]")) fix(inner); }
    }).observe(root, {childList: true, subtree: true});
    watch(page);
    wrap(Element.prototype, "attachShadow", (old) => function (o) { const root = old.call(this, o); watch(root); return root; });
    for (const name of ["write", "writeln"]) wrap(Document.prototype, name, (old) => function (...all) {
      return old.apply(this, all.map((text) => String(text).replace(/(\s(?:src|href|poster|data|action)\s*=\s*["']?)((?:https?:)?\/\/[^\s"'>]+)/gi, (_, before, ref) => before + to(ref))));
    });
    addEventListener("click", (event) => {
      const a = event.composedPath().find((e) => e.localName === "a" || e.localName === "area"), ref = a?.getAttribute("href");
      if (ref && to(ref) !== ref) a.setAttribute("href", to(ref));
    }, true);
    self.navigation?.addEventListener("navigate", (event) => {
      const is = to(event.destination.url);
      if (is !== event.destination.url && event.cancelable) { event.preventDefault(); location.assign(is); }
    });
    let told = location.href, soon = 0;
    const tell = () => {
      clearTimeout(soon);
      soon = setTimeout(() => {
        if (parent !== top || parent === self || location.href.split("#")[0] === told.split("#")[0]) return;
        parent.postMessage({henro: told = location.href, made: true}, "*");
      }, 500);
    };
    for (const name of ["pushState", "replaceState"]) wrap(History.prototype, name, (old) => function (...all) { const back = old.apply(this, all); tell(); return back; });
    addEventListener("popstate", tell);
  }
}}
