"""What a run leaves behind: recorder, recording, tables, summary, and how a recorded run goes on."""
