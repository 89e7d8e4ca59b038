// Loads the page again as soon as the preview shows something else.
(function () {
  "use strict";
  var script = document.currentScript;
  var source = null;

  // A browser opens only a few connections to one place: a page that nobody sees keeps none.
  function listen() {
    if (source) source.close();
    source = document.hidden ? null : new EventSource(new URL("../changes", script.src));
    if (source) source.onmessage = function (event) {
      if (event.data !== script.dataset.mark) location.reload();
    };
  }

  document.addEventListener("visibilitychange", listen);
  listen();
})();
