(()=>{function e(){return[.19,.07]}var n={};function c(t){let o=0;for(let r of t)o+=i(r);n.onTotal(o)}function i(t){return e().reduce((o,r)=>o+t.price*r,0)}n.onTotal=t=>{setTimeout(()=>console.log(t),5)};function a(){for(;;)c([{price:1},{price:2}])}a();})();
//# sourceMappingURL=shop.js.map
