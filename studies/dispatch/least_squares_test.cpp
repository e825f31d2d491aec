// Fits of linear models.
#include "studies/dispatch/least_squares.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

using gpu_engine::LeastSquares;

namespace {

using Model = LeastSquares<4>;

// Samples of features whose scales differ, with an error of up to `error`.
Model samples_of(const Model::Vector &coefficients, double error) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> share(0, 1);
    Model model;
    for (int i = 0; i < 300; ++i) {
        const Model::Vector features = {1, 10 * share(random), 1e3 * share(random), 1e6 * share(random)};
        double value = error * (2 * share(random) - 1);
        for (std::size_t j = 0; j < features.size(); ++j) {
            value += coefficients[j] * features[j];
        }
        model.add(features, value);
    }
    return model;
}

void expect_near(const Model::Vector &found, const Model::Vector &wanted, double share) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_NEAR(found[i], wanted[i], share * std::abs(wanted[i]) + 1e-9) << i;
    }
}

}  // namespace

TEST(LeastSquares, FindsCoefficientsAgain) {
    const Model::Vector wanted = {5, -2, 0.3, 1e-4};
    expect_near(samples_of(wanted, 0).fit(), wanted, 1e-6);
    expect_near(samples_of(wanted, 0.5).fit(), wanted, 0.1);
}

TEST(LeastSquares, FeaturesThatSayNothingNewAreLeftOut) {
    LeastSquares<3> samples;
    for (int i = 1; i <= 20; ++i) {
        samples.add({1.0, 3.0 * i, 6.0 * i}, 2 + 3.0 * i);
    }
    const auto fitted = samples.fit();
    EXPECT_NEAR(fitted[0], 2, 1e-9);
    EXPECT_NEAR(fitted[1], 1, 1e-9);
    EXPECT_EQ(fitted[2], 0);
    const LeastSquares<3>::Vector nothing = {};
    EXPECT_EQ(LeastSquares<3>().fit(), nothing);
}
