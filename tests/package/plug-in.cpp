// A plug-in that contains the library, and the program that loads it, uses it and lets go of it.

#if defined(PLUG_IN)

#    include <timingwheel/timingwheel.h>

#    include <atomic>
#    include <chrono>

extern "C" int use() {
    using namespace std::chrono_literals;
    std::atomic<int> runs{0};
    timingwheel::TaskPool pool{{.threads = 2}};
    timingwheel::SystemTimer timer{{.executor = pool}};
    for (int i = 0; i < 10; ++i) timer.newTimeout([&] { ++runs; }, i * 1ms);
    timer.drain();
    return runs;
}

#else

#    include <cstdio>
#    include <dlfcn.h>

int main(int, char** arguments) {
    for (int i = 0; i < 3; ++i) {
        void* const plugIn = dlopen(arguments[1], RTLD_NOW);
        if (plugIn == nullptr) return std::puts(dlerror());
        auto const use = reinterpret_cast<int (*)()>(dlsym(plugIn, "use"));
        if (use == nullptr || use() != 10 || dlclose(plugIn) != 0) return std::puts("it fails");
    }
}

#endif
