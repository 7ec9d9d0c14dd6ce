/* A program without libc, so that a recording of it needs nothing but its own small binary. */
static volatile unsigned long sink;
static inline __attribute__((always_inline)) unsigned long mix(unsigned long x) {
    x ^= x >> 33;
    return x * 0xff51afd7ed558ccdUL;
}
static __attribute__((noinline)) unsigned long leaf(unsigned long x) {
    for (int i = 0; i < 2000; i++) x = mix(x + sink);
    return x;
}
static __attribute__((noinline)) unsigned long tower(int height) {
    unsigned long below = height > 0 ? tower(height - 1) : leaf(height);
    return below + mix(height);
}
__attribute__((noinline, used)) static int main_loop(void) {
    for (int i = 0; i < 6000; i++) sink += tower(i % 4);
    return sink == 1;
}
__attribute__((noreturn, used)) static void finish(int code) {
    __asm__ volatile("syscall" : : "a"(60L), "D"((long)code) : "rcx", "r11", "memory");
    __builtin_unreachable();
}
void _start(void) {
    __asm__ volatile(".cfi_undefined rip");
    finish(main_loop());
}
