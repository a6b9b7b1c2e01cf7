"""What `manage.py test` runs: a database of its own, with JobForge in it."""

from django.core.management import call_command
from django.tasks import default_task_backend
from django.test import TestCase, TransactionTestCase

from shop.tasks import resize


class EnqueueTest(TestCase):
    def test_a_task_is_enqueued_in_the_transaction_of_the_test(self) -> None:
        result = resize.enqueue(7, width=100)
        assert default_task_backend.get_result(result.id).status == "READY"


class RunTest(TransactionTestCase):
    def test_a_worker_runs_what_was_committed(self) -> None:
        result = resize.enqueue(7, width=100)
        call_command("jobforge_worker", once=True)
        result.refresh()
        assert result.return_value == 700
