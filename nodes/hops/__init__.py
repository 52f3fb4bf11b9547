"""What the steps that go hop by hop share (GenGround, ReAct, Self-Ask)."""
