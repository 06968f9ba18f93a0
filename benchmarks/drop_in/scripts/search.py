"""Look for a learning rate: by a plain loop, or with Optuna."""

import argparse
import csv
import json

from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("train")
parser.add_argument("dev")
parser.add_argument("--model", default="bert-base-uncased")
parser.add_argument("--output_dir", default="search")
parser.add_argument("--rates", type=float, nargs="+", default=[2e-5, 5e-5, 1e-4])
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--batch_size", type=int, default=32)
parser.add_argument("--logging_steps", type=int, default=10)
parser.add_argument("--optuna_trials", type=int, default=0)
args = parser.parse_args()

tokenizer = AutoTokenizer.from_pretrained(args.model)


def load(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


train_rows, dev_rows = load(args.train), load(args.dev)
names = sorted({row["label"] for row in train_rows})


def encode(rows):
    return [
        dict(tokenizer(row["text"], truncation=True, max_length=128), labels=names.index(row["label"])) for row in rows
    ]


def model_init(trial=None):
    return AutoModelForSequenceClassification.from_pretrained(args.model, num_labels=len(names))


def compute_metrics(eval_pred):
    logits, labels = eval_pred
    return {"accuracy": float((logits.argmax(-1) == labels).mean())}


def make_trainer(folder, **settings):
    training_args = TrainingArguments(
        output_dir=folder,
        num_train_epochs=args.epochs,
        per_device_train_batch_size=args.batch_size,
        per_device_eval_batch_size=64,
        eval_strategy="epoch",
        save_strategy="no",
        logging_steps=args.logging_steps,
        report_to="none",
        seed=13,
        **settings,
    )
    return Trainer(
        model_init=model_init,
        args=training_args,
        train_dataset=encode(train_rows),
        eval_dataset=encode(dev_rows),
        processing_class=tokenizer,
        compute_metrics=compute_metrics,
    )


if args.optuna_trials:
    import optuna

    def hp_space(trial):
        return {
            "learning_rate": trial.suggest_float("learning_rate", 1e-5, 1e-3, log=True),
            "weight_decay": trial.suggest_float("weight_decay", 0.0, 0.1),
        }

    best = make_trainer(args.output_dir).hyperparameter_search(
        direction="maximize",
        backend="optuna",
        hp_space=hp_space,
        n_trials=args.optuna_trials,
        compute_objective=lambda metrics: metrics["eval_accuracy"],
        sampler=optuna.samplers.RandomSampler(seed=5),
    )
    settings = best.hyperparameters
    found = {"best": best.run_id, "objective": best.objective, **settings}
else:
    scores = {}
    for rate in args.rates:
        trainer = make_trainer(f"{args.output_dir}/{rate}", learning_rate=rate)
        trainer.train()
        scores[rate] = trainer.evaluate()["eval_loss"]
        trainer.save_state()
    settings = {"learning_rate": min(scores, key=scores.get)}
    found = {"scores": scores, **settings}

print(found)
final = make_trainer(f"{args.output_dir}/best", **settings)
final.train()
final.save_metrics("eval", final.evaluate())
final.save_model()
final.save_state()
with open(f"{args.output_dir}/found.json", "w") as file:
    json.dump(found, file)
