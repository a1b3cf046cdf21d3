fetch("http://out." + "living.test:8480/scriptworker").catch(() => {}); new WebSocket("ws://out.living.test:8480/ws");
