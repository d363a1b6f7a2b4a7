// Search without a web worker and without a request: a browser refuses both to a page that is opened from disk.
// The index (search_index.js) and lunr.js are scripts, loaded when the reader first goes to the field.
document.addEventListener("DOMContentLoaded", function () {
  "use strict";
  var MAX_RESULTS = 30;
  var SUMMARY_CHARACTERS = 200;
  var field = document.getElementById("mkdocs-search-query");
  var list = document.getElementById("mkdocs-search-results");
  var documents = {};
  var index = null;
  var isLoading = false;

  function load(path, then) {
    var script = document.createElement("script");
    script.src = base_url + "/search/" + path;
    script.onload = then;
    document.head.appendChild(script);
  }

  function start() {
    if (isLoading) {
      return;
    }
    isLoading = true;
    load("lunr.js", function () {
      load("search_index.js", function () {
        index = window.lunr(function () {
          this.ref("location");
          this.field("title", { boost: 10 });
          this.field("text");
          window.searchIndex.forEach(function (one) {
            documents[one.location] = one;
            this.add(one);
          }, this);
        });
        show();
      });
    });
  }

  // Sections with all words come first, then those with some. A word is also the beginning of a longer one.
  function found(text) {
    var words = text.toLowerCase().split(/[^\w.-]+/).filter(Boolean);
    var told = words.filter(window.lunr.stopWordFilter);
    if (!told.length) {
      return []; // lunr finds everything by no word
    }
    var all = asked(told, window.lunr.Query.presence.REQUIRED);
    var known = new Set(all.map(function (one) { return one.ref; }));
    var some = asked(told, window.lunr.Query.presence.OPTIONAL);
    return all.concat(some.filter(function (one) { return !known.has(one.ref); }));
  }

  function asked(words, presence) {
    return index.query(function (query) {
      words.forEach(function (word) {
        var stem = window.lunr.stemmer(new window.lunr.Token(word)).toString();
        query.term(stem, { usePipeline: false, boost: 10 });
        query.term(stem, { usePipeline: false, wildcard: window.lunr.Query.wildcard.TRAILING, presence: presence });
      });
    });
  }

  function entry(one) {
    var link = document.createElement("a");
    link.href = base_url + "/" + one.location;
    link.textContent = one.title;
    var heading = document.createElement("h3");
    heading.append(link);
    var summary = document.createElement("p");
    summary.textContent = one.text.substring(0, SUMMARY_CHARACTERS);
    var article = document.createElement("article");
    article.append(heading, summary);
    return article;
  }

  function show() {
    if (index === null) {
      start(); // shows what it finds when it has loaded
      return;
    }
    var results = found(field.value).slice(0, MAX_RESULTS);
    list.replaceChildren.apply(list, results.map(function (one) { return entry(documents[one.ref]); }));
    if (field.value.trim() && !results.length) {
      list.textContent = list.dataset.noResultsText;
    }
  }

  field.value = new URLSearchParams(location.search).get("q") || ""; // the theme opens the search for such an address
  if (field.value) {
    start();
  }
  field.addEventListener("focus", start);
  field.addEventListener("input", show);
  field.form.addEventListener("submit", function (event) { event.preventDefault(); });
});
