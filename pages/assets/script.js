// Everything works without this file; it only makes some of it quicker.
(function () {
  "use strict";

  // Arrow keys lead to the poem or page before and after, as the links at the foot do.
  document.addEventListener("keydown", function (event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
    var focused = event.target;
    // In a field they move the cursor, in a scrolling poem the poem.
    if (focused.closest && focused.closest("input, textarea, select, summary")) return;
    var scroller = focused.closest && focused.closest(".scroll");
    if (scroller && scroller.scrollWidth > scroller.clientWidth) return;
    var rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    var link = rel && document.querySelector('main a[rel="' + rel + '"]');
    if (!link) return;
    event.preventDefault();
    link.click();
  });

  // The button is of use only where there is a clipboard to write to.
  var button = document.querySelector("button.copy");
  if (button && navigator.clipboard) {
    var label = button.textContent;
    button.hidden = false;
    button.addEventListener("click", function () {
      var canonical = document.querySelector('link[rel="canonical"]');
      var address = canonical ? canonical.href : location.href.split("#")[0];
      navigator.clipboard.writeText(address).then(function () {
        button.textContent = button.dataset.done;
        setTimeout(function () { button.textContent = label; }, 2000);
      }, function () { button.hidden = true; });
    });
  }
})();
