"""Train a text classifier on your own CSV file with the columns text and label."""

import argparse

import pandas as pd
import torch
from sklearn.metrics import accuracy_score, precision_recall_fscore_support
from sklearn.model_selection import train_test_split
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments, set_seed

parser = argparse.ArgumentParser()
parser.add_argument("csv")
parser.add_argument("--model", default="bert-base-uncased")
parser.add_argument("--output_dir", default="results")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--lr", type=float, default=5e-5)
parser.add_argument("--max_length", type=int, default=128)
parser.add_argument("--logging_steps", type=int, default=10)
args = parser.parse_args()

set_seed(42)

df = pd.read_csv(args.csv)
labels = sorted(df["label"].unique())
label2id = {label: i for i, label in enumerate(labels)}
id2label = {i: label for label, i in label2id.items()}
df["label_id"] = df["label"].map(label2id)

train_texts, val_texts, train_labels, val_labels = train_test_split(
    df["text"].tolist(), df["label_id"].tolist(), test_size=0.2, random_state=42, stratify=df["label_id"]
)

tokenizer = AutoTokenizer.from_pretrained(args.model)
train_encodings = tokenizer(
    train_texts, truncation=True, padding="max_length", max_length=args.max_length, return_tensors="pt"
)
val_encodings = tokenizer(
    val_texts, truncation=True, padding="max_length", max_length=args.max_length, return_tensors="pt"
)


class TextDataset(torch.utils.data.Dataset):
    def __init__(self, encodings, labels):
        self.encodings = encodings
        self.labels = labels

    def __getitem__(self, idx):
        item = {key: val[idx].clone().detach() for key, val in self.encodings.items()}
        item["labels"] = torch.tensor(self.labels[idx])
        return item

    def __len__(self):
        return len(self.labels)


train_dataset = TextDataset(train_encodings, train_labels)
val_dataset = TextDataset(val_encodings, val_labels)


def compute_metrics(pred):
    preds = pred.predictions.argmax(-1)
    precision, recall, f1, _ = precision_recall_fscore_support(pred.label_ids, preds, average="macro", zero_division=0)
    return {"accuracy": accuracy_score(pred.label_ids, preds), "f1": f1, "precision": precision, "recall": recall}


model = AutoModelForSequenceClassification.from_pretrained(
    args.model, num_labels=len(labels), id2label=id2label, label2id=label2id
)

training_args = TrainingArguments(
    output_dir=args.output_dir,
    num_train_epochs=args.epochs,
    per_device_train_batch_size=args.batch_size,
    per_device_eval_batch_size=64,
    learning_rate=args.lr,
    warmup_steps=5,
    weight_decay=0.01,
    logging_steps=args.logging_steps,
    eval_strategy="epoch",
    save_strategy="no",
    report_to="none",
)

trainer = Trainer(
    model=model,
    args=training_args,
    train_dataset=train_dataset,
    eval_dataset=val_dataset,
    compute_metrics=compute_metrics,
)
trainer.train()
print(trainer.evaluate())

trainer.save_model(args.output_dir)
tokenizer.save_pretrained(args.output_dir)
trainer.save_state()

output = trainer.predict(val_dataset)
probabilities = torch.softmax(torch.tensor(output.predictions), dim=-1)
result = pd.DataFrame({"text": val_texts, "label": [id2label[i] for i in val_labels]})
result["prediction"] = [id2label[i] for i in output.predictions.argmax(-1)]
result["probability"] = probabilities.max(dim=-1).values.numpy()
result.to_csv(f"{args.output_dir}/predictions.csv", index=False)
