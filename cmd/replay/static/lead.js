const under = ".archive.localhost", here = /^http:\/\/(\d+)-(https?)(?:-(\d+))?\.(.+)\.archive\.localhost(:\d+)?$/.exec(self.origin);
const lead = (ref) => {
  try {
    const u = new URL(ref, self.document ? document.baseURI : self.location.href), name = u.hostname.startsWith("[") ? u.hostname.slice(1, -1).replaceAll(":", "-") + ".ip6" : u.hostname;
    if (!here || !/^https?:$/.test(u.protocol) || name.endsWith(under)) return ref;
    return "http://" + here[1] + "-" + u.protocol.slice(0, -1) + (u.port ? "-" + u.port : "") + "." + name + under + (here[5] || "") + u.pathname + u.search + u.hash;
  } catch { return ref; }
};
const asks = (w, prelude) => {
  const made = new Map(), {createObjectURL, revokeObjectURL} = w.URL, {fetch, importScripts} = w, {open} = w.XMLHttpRequest.prototype;
  const to = (ref) => made.has(String(ref)) ? createObjectURL(new w.Blob([prelude, made.get(String(ref))], {type: "text/javascript"})) : lead(ref);
  for (const [name, leads] of [["Request", lead], ["EventSource", lead], ["Worker", to], ["SharedWorker", to]]) {
    const was = w[name];
    if (was) w[name] = new Proxy(was, {construct: (type, [ref, ...more], as) => Reflect.construct(type, [ref && ref.url ? ref : leads(ref), ...more], as)});
  }
  w.fetch = function (ref, o) { return fetch.call(this, ref && ref.url ? ref : lead(ref), o); };
  w.XMLHttpRequest.prototype.open = function (method, ref, ...more) { return open.call(this, method, lead(ref), ...more); };
  if (importScripts) w.importScripts = (...all) => importScripts.apply(w, all.map(lead));
  if (!prelude) return;
  w.URL.createObjectURL = (of) => { const url = createObjectURL(of); if (of instanceof w.Blob && made.size < 10000) made.set(url, of); return url; };
  w.URL.revokeObjectURL = (url) => { made.delete(String(url)); revokeObjectURL(url); };
};
