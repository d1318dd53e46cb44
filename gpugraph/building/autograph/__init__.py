"""AutoGraph: functions whose statements depend on tensors, converted to build graphs."""
