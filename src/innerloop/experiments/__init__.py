"""The paper's experiments: tasks, a runner that resumes, figures and claims."""
