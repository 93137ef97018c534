"""Everything innerloop raises on purpose."""


class InnerLoopError(ValueError):
    """Base of all errors of this package; also a `ValueError`."""


class InputError(InnerLoopError):
    """An argument is not what was expected; the message says what was got and what was expected."""


class NumericalError(InnerLoopError):
    """A matrix could not be factorized within the jitter policy of `innerloop.linalg`."""


class MissingPackageError(InnerLoopError, ImportError):
    """A package that is needed for what was asked is not installed; the message says how to."""


class StudyError(InnerLoopError):
    """A study, its database or its target cannot be used; the message is one line."""


class StorageError(StudyError):
    """The database did not do what it was asked to."""
