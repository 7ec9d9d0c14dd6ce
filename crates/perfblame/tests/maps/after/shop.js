(()=>{var f=[];function e(t){f.push(t.trim())}function n(){return[.19,.07]}var i={};function c(t){let o=0;for(let r of t)o+=p(r);i.onTotal(o)}function p(t){return n().reduce((o,r)=>o+t.price*r,0)}i.onTotal=t=>{setTimeout(()=>console.log(t),5)};function s(){for(e("started");;)c([{price:1},{price:2}])}s();})();
//# sourceMappingURL=shop.js.map
