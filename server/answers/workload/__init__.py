"""Answer many questions under one budget, measured where that serves most of them: all or nothing."""
