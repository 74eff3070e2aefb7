// SPDX-License-Identifier: Apache-2.0
// Training a multi-layer perceptron on handwritten digits: each worker has the gradient of its part
// of a batch, the host adds them up and changes the weights.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "experiments.hpp"
#include "timing.hpp"

namespace offload {
namespace {

using selion::worker_pool;

constexpr std::size_t inputs = 64;
constexpr std::size_t hidden = 128;
constexpr std::size_t classes = 10;
constexpr std::size_t connections = (inputs + classes) * hidden;
constexpr std::size_t image_count = 1797;
constexpr std::size_t tested = 360;  ///< images that training does not see
constexpr float rate = 0.3F;
constexpr float momentum = 0.9F;

/// Places of weights and offsets in a vector: w1[input][hidden], b1, w2[hidden][class], b2.
constexpr std::size_t at_b1 = inputs * hidden;
constexpr std::size_t at_w2 = at_b1 + hidden;
constexpr std::size_t at_b2 = at_w2 + hidden * classes;
constexpr std::size_t weight_count = at_b2 + classes;

using image = std::span<const std::uint8_t>;  // 0 to 16

/// What the layers say to an image; the last one as probabilities.
struct activity {
    std::array<float, hidden> middle;
    std::array<float, classes> likely;
};

activity look(std::span<const float> weights, image shown) {
    activity found{};
    std::copy_n(&weights[at_b1], hidden, found.middle.begin());
    for (std::size_t i = 0; i < inputs; ++i) {
        const float x = static_cast<float>(shown[i]) / 16;
        for (std::size_t h = 0; h < hidden; ++h) found.middle[h] += x * weights[i * hidden + h];
    }
    std::copy_n(&weights[at_b2], classes, found.likely.begin());
    for (std::size_t h = 0; h < hidden; ++h) {
        found.middle[h] = std::tanh(found.middle[h]);
        for (std::size_t k = 0; k < classes; ++k) {
            found.likely[k] += found.middle[h] * weights[at_w2 + h * classes + k];
        }
    }
    const float most = *std::ranges::max_element(found.likely);
    float sum = 0;
    for (float& each : found.likely) sum += each = std::exp(each - most);
    for (float& each : found.likely) each /= sum;
    return found;
}

/// Adds the gradient of one image.
void learn(std::span<const float> weights, image shown, std::uint8_t digit, std::span<float> into) {
    activity seen = look(weights, shown);
    seen.likely[digit] -= 1;
    std::array<float, hidden> back{};
    for (std::size_t h = 0; h < hidden; ++h) {
        for (std::size_t k = 0; k < classes; ++k) {
            const std::size_t place = at_w2 + h * classes + k;
            into[place] += seen.middle[h] * seen.likely[k];
            back[h] += weights[place] * seen.likely[k];
        }
        back[h] *= 1 - seen.middle[h] * seen.middle[h];
        into[at_b1 + h] += back[h];
    }
    for (std::size_t k = 0; k < classes; ++k) into[at_b2 + k] += seen.likely[k];
    for (std::size_t i = 0; i < inputs; ++i) {
        const float x = static_cast<float>(shown[i]) / 16;
        for (std::size_t h = 0; h < hidden; ++h) into[i * hidden + h] += x * back[h];
    }
}

/// The gradient over some images. In virtual time it is what three products of the board take:
/// forwards, backwards, and that of the weights.
const selion::routine gradient{
    "gradient", [](std::span<const float> weights, std::span<const std::uint8_t> images,
                   std::span<const std::uint8_t> digits, std::span<const std::uint16_t> chosen,
                   std::span<float> into) {
        constexpr std::uint64_t operations = 3 * 2 * connections;
        selion::charge(selion::int_ops(operations * chosen.size()));
        std::ranges::fill(into, 0.0F);
        for (const std::uint16_t each : chosen) {
            learn(weights, images.subspan(each * inputs, inputs), digits[each], into);
        }
    }};

/// Images in rows of `inputs`, and their digits.
struct digit_images {
    std::vector<std::uint8_t> images;
    std::vector<std::uint8_t> digits;
};

/// Rows of 64 numbers from 0 to 16 and a digit, with commas.
digit_images read_images() {
    const char* const path = std::getenv("SELION_STUDY_DATA");
    std::ifstream file(path != nullptr ? path : "");
    digit_images found;
    unsigned number = 0;
    char comma = 0;
    while (file >> number) {
        const bool is_digit = found.images.size() == (found.digits.size() + 1) * inputs;
        (is_digit ? found.digits : found.images).push_back(static_cast<std::uint8_t>(number));
        if (!is_digit) file >> comma;
    }
    const bool is_whole = found.images.size() == found.digits.size() * inputs;
    if (found.digits.size() == image_count && is_whole) return found;
    throw study::bad_argument(
        "SELION_STUDY_DATA does not name a file of digits; `selion study` makes one.");
}

struct plan {
    std::uint32_t workers = 1;
    std::uint32_t epochs = 1;
    std::uint32_t batch = 1;
    std::uint64_t seed = 1;
};

struct training_result {
    double accuracy = 0;
    double seconds = 0;
    selion::pool_profile profile;
};

class training {
public:
    training(selion::world& world, worker_pool& pool, std::uint64_t seed)
        : world_(world),
          pool_(pool),
          random_(seed),
          data_(read_images()),
          trained_(data_.digits.size() - tested),
          images_(pool.replicate(std::span(data_.images).first(trained_ * inputs))),
          digits_(pool.replicate(std::span(data_.digits).first(trained_))),
          weights_(weight_count),
          speed_(weight_count),
          order_(trained_),
          gradients_(pool.size(), std::vector<float>(weight_count)) {
        std::normal_distribution<float> small(0, 0.1F);
        for (float& each : weights_) each = small(random_);
        for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<std::uint16_t>(i);
        settle(world);
    }

    training_result run(std::uint32_t epochs, std::size_t batch) {
        const selion::pool_profile before = pool_.profile();
        const std::int64_t start_ps = world_.now_ps();
        for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
            std::ranges::shuffle(order_, random_);
            for (std::size_t first = 0; first < order_.size(); first += batch) {
                step(std::span(order_).subspan(first, std::min(batch, order_.size() - first)));
            }
        }
        const double seconds = static_cast<double>(world_.now_ps() - start_ps) * 1e-12;
        selion::pool_profile used = pool_.profile();
        used.in -= before.in;
        used.out -= before.out;
        used.compute -= before.compute;
        return {accuracy(), seconds, used};
    }

private:
    void step(std::span<const std::uint16_t> chosen) {
        const std::uint32_t workers = pool_.size();
        std::vector<selion::routine_call<>> calls;
        for (std::uint32_t worker = 0; worker < workers; ++worker) {
            const std::size_t first = chosen.size() * worker / workers;
            const std::size_t end = chosen.size() * (worker + 1) / workers;
            calls.push_back(pool_.call({.worker = worker}, gradient, weights_, images_, digits_,
                                       chosen.subspan(first, end - first),
                                       selion::out(gradients_[worker])));
        }
        for (auto& each : calls) each.wait();
        const float factor = rate / static_cast<float>(chosen.size());
        for (std::size_t i = 0; i < weight_count; ++i) {
            float sum = 0;
            for (const std::vector<float>& each : gradients_) sum += each[i];
            speed_[i] = momentum * speed_[i] - factor * sum;
            weights_[i] += speed_[i];
        }
    }

    /// Share of the images that it has not seen and that it names rightly.
    double accuracy() const {
        std::size_t right = 0;
        for (std::size_t i = trained_; i < data_.digits.size(); ++i) {
            const activity seen =
                look(weights_, std::span(data_.images).subspan(i * inputs, inputs));
            const auto best = std::ranges::max_element(seen.likely) - seen.likely.begin();
            if (best == data_.digits[i]) ++right;
        }
        return static_cast<double>(right) / static_cast<double>(tested);
    }

    selion::world& world_;
    worker_pool& pool_;
    std::mt19937_64 random_;
    digit_images data_;
    std::size_t trained_;
    selion::worker_replica<std::uint8_t> images_;
    selion::worker_replica<std::uint8_t> digits_;
    std::vector<float> weights_;
    std::vector<float> speed_;
    std::vector<std::uint16_t> order_;
    std::vector<std::vector<float>> gradients_;
};

/// @return of the host; elsewhere nothing.
training_result train(selion::world& world, std::uint32_t workers, const plan& wanted) {
    selion::worker_pool_options options = pool_options(world, workers);
    if (!world.machine().capabilities.real_time) options.memory_bytes = std::uint64_t{1} << 20;
    worker_pool pool(world, options);
    if (!pool.is_host()) return {};
    return training(world, pool, wanted.seed).run(wanted.epochs, wanted.batch);
}

void print_point(const training_result& alone, const training_result& shared, const plan& wanted,
                 const study::row_frame& frame) {
    // Every worker gets all weights and returns all of a gradient.
    const selion::offload_work work{alone.profile.in, alone.profile.out, alone.profile.compute,
                                    true};
    const selion::offload_prediction predicted =
        selion::predict_offload(work, {.workers = wanted.workers}, 0);
    const double trained =
        static_cast<double>(connections) * (image_count - tested) * wanted.epochs;
    using study::detail::rounded;
    study::print_row(frame, {"accuracy", ""}, rounded(shared.accuracy));
    study::print_row(frame, {"accuracy_alone", ""}, rounded(alone.accuracy));
    study::print_row(frame, {"connections_per_s", "1/s"}, rounded(trained / shared.seconds));
    study::print_row(frame, {"speedup", ""}, rounded(alone.seconds / shared.seconds));
    study::print_row(frame, {"predicted_speedup", ""}, rounded(predicted.speedup));
}

std::uint32_t read_count(const nlohmann::ordered_json& params, const char* key,
                         std::uint64_t most) {
    const auto count = study::parameter<std::uint64_t>(params, key);
    if (count >= 1 && count <= most) return static_cast<std::uint32_t>(count);
    throw study::bad_argument(std::string("'") + key + "' is " + std::to_string(count) +
                              "; legal: 1 to " + std::to_string(most) + ".");
}

}  // namespace

measurement read_training(const study::arguments& given) {
    const plan wanted{.workers = read_count(given.params, "workers", 64),
                      .epochs = read_count(given.params, "epochs", 10'000),
                      .batch = read_count(given.params, "batch", image_count - tested),
                      .seed = given.seed};
    return [wanted](selion::world& world, const study::row_frame& frame) {
        const training_result alone = train(world, 1, wanted);
        const training_result shared =
            wanted.workers == 1 ? alone : train(world, wanted.workers, wanted);
        if (world.rank() == 0) print_point(alone, shared, wanted, frame);
    };
}

}  // namespace offload
