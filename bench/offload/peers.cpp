// SPDX-License-Identifier: Apache-2.0
#include "peers.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "harness/flags.hpp"

#if SELION_BENCH_TBB
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#endif
#if SELION_BENCH_STARPU
#include <starpu.h>

#include <filesystem>
#include <string>
#include <system_error>
#endif

namespace bench {
namespace {

/// Answers a flag as long as somebody calls.
class answerer {
public:
    answerer() : thread_([this] { answer(); }) {}
    ~answerer() {
        is_over_ = true;
        is_wanted_ = true;
        is_wanted_.notify_one();
        thread_.join();
    }

    void begin() {
        is_wanted_ = true;
        is_wanted_.notify_one();
    }
    void run(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t turn = asked_.value.load(std::memory_order_relaxed) + 1;
            asked_.value.store(turn, std::memory_order_release);
            while (answered_.value.load(std::memory_order_acquire) != turn) {
                bare::pause_processor();
            }
        }
    }
    void end() {
        is_wanted_ = false;
        // One more: it looks at what is wanted after each.
        asked_.value.fetch_add(1, std::memory_order_release);
    }

private:
    struct alignas(128) line {
        std::atomic<std::uint64_t> value = 0;
    };
    void answer() {
        for (std::uint64_t turn = 1; !is_over_; ++turn) {
            while (asked_.value.load(std::memory_order_acquire) < turn && !is_over_) {
                if (is_wanted_) {
                    bare::pause_processor();
                } else {
                    is_wanted_.wait(false);
                }
            }
            answered_.value.store(turn, std::memory_order_release);
        }
    }
    line asked_;
    line answered_;
    std::atomic<bool> is_wanted_ = false;
    std::atomic<bool> is_over_ = false;
    std::thread thread_;
};

#if SELION_BENCH_TBB
/// One worker beside the caller.
struct tbb_worker {
    oneapi::tbb::global_control threads{oneapi::tbb::global_control::max_allowed_parallelism, 2};
    oneapi::tbb::task_arena arena{2, 1};
};

void tbb_wait(tbb_worker& worker, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        std::atomic<bool> is_done = false;
        worker.arena.enqueue([&] { is_done.store(true, std::memory_order_release); });
        while (!is_done.load(std::memory_order_acquire)) bare::pause_processor();
    }
}

void tbb_stream(tbb_worker& worker, std::uint64_t count) {
    std::atomic<std::uint64_t> done = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        worker.arena.enqueue([&] { done.fetch_add(1, std::memory_order_release); });
    }
    while (done.load(std::memory_order_acquire) != count) bare::pause_processor();
}
#endif

#if SELION_BENCH_STARPU
void do_nothing(void**, void*) {}

/// Where StarPU writes what it measures of this host. In the user's own folder it would stay there,
/// and StarPU aborts where that cannot be written.
class starpu_folder {
public:
    starpu_folder() {
        if (std::getenv(name) != nullptr) return;
        std::string made = std::filesystem::temp_directory_path() / "starpu-XXXXXX";
        if (mkdtemp(made.data()) == nullptr) return;
        folder_ = made;
        setenv(name, made.c_str(), 1);
    }
    ~starpu_folder() {
        std::error_code ignored;
        if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
    }
    starpu_folder(const starpu_folder&) = delete;
    starpu_folder& operator=(const starpu_folder&) = delete;

private:
    static constexpr const char* name = "STARPU_PERF_MODEL_DIR";
    std::filesystem::path folder_;
};

/// StarPU with one processor for its worker. It waits actively, so it is stopped between blocks.
class starpu_worker {
public:
    starpu_worker() {
        starpu_conf_init(&setting_);
        setting_.ncpus = 1;
        setting_.ncuda = 0;
        setting_.nopencl = 0;
        is_there_ = starpu_init(&setting_) == 0;
        starpu_codelet_init(&routine_);
        routine_.cpu_funcs[0] = do_nothing;
        routine_.nbuffers = 0;
        if (is_there_) starpu_pause();
    }
    ~starpu_worker() {
        if (!is_there_) return;
        starpu_resume();
        starpu_shutdown();
    }
    bool is_there() const { return is_there_; }
    void wait_for_each(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) submit(true);
    }
    void stream(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) submit(false);
        starpu_task_wait_for_all();
    }

private:
    void submit(bool waits) {
        starpu_task* const task = starpu_task_create();
        task->cl = &routine_;
        task->synchronous = waits ? 1 : 0;
        if (starpu_task_submit(task) != 0) std::abort();
    }
    starpu_folder measured_in_;
    starpu_conf setting_{};
    starpu_codelet routine_{};
    bool is_there_ = false;
};
#endif

}  // namespace

peer bare_flags() {
    const auto own = std::make_shared<answerer>();
    return {"bare flags", [own](std::uint64_t count) { own->run(count); }, [own] { own->begin(); },
            [own] { own->end(); }};
}

peer_list peers() {
    peer_list all;
#if SELION_BENCH_TBB
    const auto tbb = std::make_shared<tbb_worker>();
    all.waiting.push_back({"oneTBB", [tbb](std::uint64_t n) { tbb_wait(*tbb, n); }});
    all.streaming.push_back({"oneTBB", [tbb](std::uint64_t n) { tbb_stream(*tbb, n); }});
#endif
#if SELION_BENCH_STARPU
    const auto starpu = std::make_shared<starpu_worker>();
    if (starpu->is_there()) {
        constexpr std::int64_t quick_ns = 50'000;  // twice the longest seen, 24 us on an Intel Xeon
        all.waiting.push_back({"StarPU", [starpu](std::uint64_t n) { starpu->wait_for_each(n); },
                               starpu_resume, starpu_pause, quick_ns});
        all.streaming.push_back({"StarPU", [starpu](std::uint64_t n) { starpu->stream(n); },
                                 starpu_resume, starpu_pause, quick_ns});
    }
#endif
    return all;
}

}  // namespace bench
