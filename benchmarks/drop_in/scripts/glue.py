"""Fine-tune a classifier on pairs of sentences, in the manner of the GLUE examples."""

import logging
import os
from dataclasses import dataclass, field

import numpy as np
from datasets import load_dataset
from sklearn.metrics import accuracy_score, f1_score
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    EvalPrediction,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    default_data_collator,
    set_seed,
)

logger = logging.getLogger(__name__)


@dataclass
class ModelArguments:
    model_name_or_path: str = field(metadata={"help": "Path to a pretrained model or its name on the Hub"})
    cache_dir: str | None = field(default=None, metadata={"help": "Where to keep datasets"})


@dataclass
class DataArguments:
    train_file: str = field(metadata={"help": "CSV with sentence1, sentence2 and label"})
    validation_file: str = field(metadata={"help": "CSV with sentence1, sentence2 and label"})
    test_file: str | None = field(default=None, metadata={"help": "CSV with sentence1 and sentence2"})
    max_seq_length: int = field(default=128)
    pad_to_max_length: bool = field(default=True)


def main():
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    logging.basicConfig(level=logging.INFO)
    logger.info("Training/evaluation parameters %s", training_args)
    set_seed(training_args.seed)

    files = {"train": data_args.train_file, "validation": data_args.validation_file}
    if data_args.test_file:
        files["test"] = data_args.test_file
    raw_datasets = load_dataset("csv", data_files=files, cache_dir=model_args.cache_dir)
    num_labels = len(raw_datasets["train"].unique("label"))

    config = AutoConfig.from_pretrained(model_args.model_name_or_path, num_labels=num_labels)
    tokenizer = AutoTokenizer.from_pretrained(model_args.model_name_or_path)
    model = AutoModelForSequenceClassification.from_pretrained(model_args.model_name_or_path, config=config)
    padding = "max_length" if data_args.pad_to_max_length else False

    def preprocess(examples):
        return tokenizer(
            examples["sentence1"],
            examples["sentence2"],
            padding=padding,
            max_length=data_args.max_seq_length,
            truncation=True,
        )

    with training_args.main_process_first(desc="dataset map pre-processing"):
        encoded = raw_datasets.map(preprocess, batched=True, desc="Running tokenizer on dataset")

    def compute_metrics(p: EvalPrediction):
        preds = np.argmax(p.predictions, axis=1)
        result = {"accuracy": accuracy_score(p.label_ids, preds), "f1": f1_score(p.label_ids, preds)}
        result["combined_score"] = np.mean(list(result.values())).item()
        return result

    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=encoded["train"] if training_args.do_train else None,
        eval_dataset=encoded["validation"] if training_args.do_eval else None,
        compute_metrics=compute_metrics,
        processing_class=tokenizer,
        data_collator=default_data_collator if data_args.pad_to_max_length else DataCollatorWithPadding(tokenizer),
    )

    if training_args.do_train:
        train_result = trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint)
        metrics = train_result.metrics
        metrics["train_samples"] = len(encoded["train"])
        trainer.save_model()
        trainer.log_metrics("train", metrics)
        trainer.save_metrics("train", metrics)
        trainer.save_state()

    if training_args.do_eval:
        metrics = trainer.evaluate(eval_dataset=encoded["validation"])
        metrics["eval_samples"] = len(encoded["validation"])
        trainer.log_metrics("eval", metrics)
        trainer.save_metrics("eval", metrics)

    if training_args.do_predict:
        predictions = trainer.predict(encoded["test"], metric_key_prefix="predict").predictions
        with open(os.path.join(training_args.output_dir, "predict_results.csv"), "w") as writer:
            writer.write("index,prediction\n")
            for index, item in enumerate(np.argmax(predictions, axis=1)):
                writer.write(f"{index},{item}\n")

    trainer.create_model_card(finetuned_from=model_args.model_name_or_path, tasks="text-classification", language="en")


if __name__ == "__main__":
    main()
