#include "runtime/train/Recipe.h"

#include <nlohmann/json.hpp>

namespace spillway {

using Json = nlohmann::json;

void LossScale::follow(bool overflowed) {
  if (overflowed) {
    value /= 2;
    goodSteps = 0;
    ++skipped;
  } else if (++goodSteps >= interval) {
    value *= 2;
    goodSteps = 0;
  }
}

std::string encodeRecipe(const Recipe &recipe) {
  return Json({{"steps", recipe.steps},
               {"schedule", name(recipe.schedule.shape)},
               {"rate", recipe.schedule.rate},
               {"least_rate", recipe.schedule.leastRate},
               {"warmup", recipe.schedule.warmup},
               {"seed", recipe.seed},
               {"shuffles", recipe.shuffles},
               {"samples", recipe.samples},
               {"loss_scale", recipe.lossScale.value},
               {"loss_scale_interval", recipe.lossScale.interval},
               {"good_steps", recipe.lossScale.goodSteps},
               {"skipped", recipe.lossScale.skipped},
               {"training", recipe.training},
               {"log_line", recipe.logLine}})
      .dump();
}

Result<Recipe> parseRecipe(std::string_view text) {
  auto damaged = [](std::string_view why) {
    return machineError("what the last commit says of the training cannot be read: {}", why);
  };
  Json root = Json::parse(text, nullptr, false);
  // A field that is missing or of another type throws inside the library.
  try {
    Recipe recipe;
    auto shape = scheduleShapeFromName(root.at("schedule").get<std::string>());
    if (!shape)
      return damaged("it has an unknown schedule");
    recipe.steps = root.at("steps").get<uint64_t>();
    recipe.schedule = {*shape, root.at("rate").get<double>(), root.at("least_rate").get<double>(),
                       root.at("warmup").get<uint64_t>()};
    recipe.seed = root.at("seed").get<uint64_t>();
    recipe.shuffles = root.at("shuffles").get<bool>();
    recipe.samples = root.at("samples").get<uint64_t>();
    const LossScale initial;
    recipe.lossScale = {root.value("loss_scale", initial.value), root.value("loss_scale_interval", initial.interval),
                        root.value("good_steps", initial.goodSteps), root.value("skipped", initial.skipped)};
    recipe.training = root.value("training", uint64_t(0));
    recipe.logLine = root.value("log_line", std::string());
    return recipe;
  } catch (const Json::exception &exception) {
    return damaged(exception.what());
  }
}

} // namespace spillway
