// SPDX-License-Identifier: Apache-2.0
// Open MPI is found when the study runs, so that nothing of it is needed to build: see
// docs/adr/0024-mpi-of-the-study.md.
#include "mpi.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <selion/selion.hpp>

#include "calls.hpp"

namespace multicore {
namespace {

using enum selion::collective_kind;

constexpr const char* library_name = "libmpi.so.40";  // Open MPI 4, whose handles are addresses
constexpr const char* how_to_install =
    "Open MPI is not installed here; apt-get install openmpi-bin";

/// What the study calls of the library.
class mpi_library {
public:
    mpi_library() : library_(dlopen(library_name, RTLD_NOW | RTLD_GLOBAL)) {}
    bool is_there() const { return library_ != nullptr; }

    template <class... Arguments>
    void call(const char* name, Arguments... arguments) const {
        const auto function = reinterpret_cast<int (*)(Arguments...)>(find(name));
        if (function(arguments...) != 0) throw std::runtime_error(std::string(name) + " failed");
    }
    void* find(const char* name) const {
        void* const found = dlsym(library_, name);
        if (found == nullptr)
            throw std::runtime_error(std::string(library_name) + " lacks " + name);
        return found;
    }

private:
    void* library_;
};

/// A rank of its processes.
class mpi_rank {
public:
    mpi_rank(int argc, char** argv) {
        mpi_.call("MPI_Init", &argc, &argv);
        mpi_.call("MPI_Comm_rank", all_, &rank_);
        mpi_.call("MPI_Comm_size", all_, &size_);
    }
    ~mpi_rank() { mpi_.call("MPI_Finalize"); }
    mpi_rank(const mpi_rank&) = delete;
    mpi_rank& operator=(const mpi_rank&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    void barrier() const { mpi_.call("MPI_Barrier", all_); }
    std::int64_t maximum(std::int64_t own) const {
        std::int64_t most = 0;
        mpi_.call("MPI_Allreduce", static_cast<const void*>(&own), static_cast<void*>(&most), 1,
                  mpi_.find("ompi_mpi_int64_t"), mpi_.find("ompi_mpi_op_max"), all_);
        return most;
    }
    void run(const subject& what, std::vector<double>& own, std::vector<double>& others,
             int root) const {
        const auto count = static_cast<int>(what.bytes / sizeof(double));
        void* const data = own.data();
        switch (what.what) {
            case broadcast: return mpi_.call("MPI_Bcast", data, count, doubles_, root, all_);
            case all_reduce:
                return mpi_.call("MPI_Allreduce", in_place(), data, count, doubles_, sum_, all_);
            case exchange:
                return mpi_.call("MPI_Alltoall", static_cast<const void*>(data), count, doubles_,
                                 static_cast<void*>(others.data()), count, doubles_, all_);
            default: return barrier();
        }
    }

private:
    static const void* in_place() { return reinterpret_cast<const void*>(1); }

    mpi_library mpi_;
    void* all_ = mpi_.find("ompi_mpi_comm_world");
    void* doubles_ = mpi_.find("ompi_mpi_double");
    void* sum_ = mpi_.find("ompi_mpi_op_sum");
    int rank_ = 0;
    int size_ = 0;
};

/// As `time_calls` does it.
class mpi_timing {
public:
    mpi_timing(const mpi_rank& self, const subject& what)
        : self_(self),
          what_(what),
          own_(what.bytes / sizeof(double) *
               static_cast<std::size_t>(what.what == exchange ? self.size() : 1)),
          others_(what.what == exchange ? own_.size() : 0) {}

    std::vector<double> samples() {
        constexpr double least_us = 200;
        constexpr int most_calls = 1 << 16;
        int calls = 8;
        while (calls < most_calls && block_us(calls) < least_us) calls *= 2;
        std::vector<double> each;
        double spent_us = 0;
        while (each.size() < most_samples && (each.size() < fewest_samples || spent_us < most_us)) {
            each.push_back(block_us(calls) / calls);
            spent_us += each.back() * calls;
        }
        return each;
    }

private:
    static constexpr std::size_t most_samples = 51;
    static constexpr std::size_t fewest_samples = 7;
    static constexpr double most_us = 500'000;

    static std::int64_t now_ns() {
        return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    }
    double block_us(int calls) {
        self_.barrier();
        const std::int64_t begun_ns = now_ns();
        for (int turn = 0; turn < calls; ++turn) {
            self_.run(what_, own_, others_, turn % self_.size());
        }
        const std::int64_t ended_ns = now_ns();
        const std::int64_t last_begun_ns = self_.maximum(begun_ns);
        return static_cast<double>(self_.maximum(ended_ns) - last_begun_ns) / 1e3;
    }

    const mpi_rank& self_;
    subject what_;
    std::vector<double> own_;
    std::vector<double> others_;
};

std::string own_path() {
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length < 0) throw std::runtime_error("the program does not find itself");
    return {path, static_cast<std::size_t>(length)};
}

std::string quoted(const std::string& text) {
    std::string made = "'";
    for (const char letter : text)
        made += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return made + "'";
}

/// Two ranks have a processor each and spin; more let each other run.
std::string launch_line(const study::arguments& given, std::uint64_t ranks) {
    const std::string places = ranks == 2 ? "--map-by core --bind-to core"
                                          : "--oversubscribe --bind-to none "
                                            "--mca mpi_yield_when_idle 1";
    return "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi " + places +
           " -n " + std::to_string(ranks) + " " + quoted(own_path()) + " " + mpi_process + " " +
           quoted(given.params.dump());
}

/// The samples that the processes print; nothing if they failed.
std::vector<double> measure_mpi(const std::string& line) {
    std::FILE* const pipe = popen(line.c_str(), "r");
    if (pipe == nullptr) return {};
    std::string said;
    char part[4096];
    while (const std::size_t come = std::fread(part, 1, sizeof part, pipe)) said.append(part, come);
    const int status = pclose(pipe);
    const auto samples = nlohmann::json::parse(said, nullptr, false);
    if (status != 0 || !samples.is_array()) return {};
    return samples.get<std::vector<double>>();
}

void print_skipped(const std::string& reason) {
    std::printf("%s\n", nlohmann::json{{"skipped", reason}}.dump().c_str());
}

int run_library(const study::arguments& given) {
    const char* const machine = std::getenv("SELION_MACHINE");
    if (machine != nullptr && !std::string(machine).starts_with("processes")) {
        print_skipped("an MPI library has processes, and the machine is " + std::string(machine));
        return 0;
    }
    const auto ranks = study::parameter<std::uint64_t>(given.params, "ranks");
    const bool has_launcher = std::system("command -v mpirun.openmpi >/dev/null") == 0;
    if (!has_launcher || !mpi_library().is_there()) {
        print_skipped(how_to_install);
        return 0;
    }
    for (std::uint32_t repetition = 0; repetition < given.repetitions; ++repetition) {
        const std::vector<double> samples = measure_mpi(launch_line(given, ranks));
        if (samples.empty()) {
            std::fprintf(stderr, "study_multicore_collectives: Open MPI's processes failed\n");
            return 1;
        }
        const auto count = static_cast<std::uint32_t>(ranks);
        study::print_row({given.params, count, repetition}, {"latency_us", "us"},
                         study::spread_of(samples));
    }
    return 0;
}

}  // namespace

int run_mpi_process(int argc, char** argv) {
    if (argc != 3) throw study::bad_argument("an MPI process needs its params.");
    const subject what = read_subject(nlohmann::ordered_json::parse(argv[2]));
    mpi_rank self(argc, argv);
    const std::vector<double> samples = mpi_timing(self, what).samples();
    if (self.rank() == 0) std::printf("%s\n", nlohmann::json(samples).dump().c_str());
    return 0;
}

int run_mpi(int argc, char** argv, const study::arguments& given) {
    const subject what = read_subject(given.params);
    const auto library = study::parameter<std::string>(given.params, "library");
    if (library == "mpi") return run_library(given);
    if (library != "selion") {
        throw study::bad_argument("'library' is '" + library + "'; legal: selion, mpi.");
    }
    return selion::run(argc, argv, [&](selion::world& world) {
        const team_call call(world, world, what);
        for (std::uint32_t repetition = 0; repetition < given.repetitions; ++repetition) {
            const study::row_frame frame{given.params, world.size(), repetition};
            print_figure(
                world, frame, {"latency_us", "us"},
                time_calls(world, [&](std::uint32_t turn) { call.run(turn % world.size()); }));
        }
    });
}

}  // namespace multicore
