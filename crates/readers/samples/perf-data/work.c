/* Twice reads, naps 3 ms, naps 6 ms and writes. A program without libc, so that a recording of it needs nothing but its
   own small binary. */
static long call(long number, long a, long b, long c, long d) {
    long result;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}
static char buffer[4096];
static void nap(long milliseconds) {
    struct { long seconds, nanoseconds; } time = {0, milliseconds * 1000000};
    call(230, 0, 0, (long)&time, 0);
}
static long load(void) {
    long file = call(257, -100, (long)"/proc/self/status", 0, 0);
    long length = call(0, file, (long)buffer, sizeof buffer, 0);
    call(3, file, 0, 0, 0);
    return length;
}
static void parse(void) { nap(3); }
static void store(long length) {
    nap(6);
    long file = call(257, -100, (long)"/dev/null", 1, 0);
    call(1, file, (long)buffer, length, 0);
    call(3, file, 0, 0, 0);
}
__attribute__((noreturn)) void rounds(void) {
    for (int round = 0; round < 2; round++) {
        long length = load();
        parse();
        store(length);
    }
    call(60, 0, 0, 0, 0);
    __builtin_unreachable();
}
/* Frames end where the frame pointer is zero. */
__asm__(".globl _start\n.type _start, @function\n_start:\n\txor %ebp, %ebp\n\tcall rounds\n.size _start, . - _start");
