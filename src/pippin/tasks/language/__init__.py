"""Text that goes on from a text: chats, answers to prompts, plain texts."""
