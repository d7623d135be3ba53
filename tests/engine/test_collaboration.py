"""A team reaches a goal: one function from what is recorded to what comes next, and whatever happens in between."""

import asyncio
import re
from collections import Counter

import pytest

from folkmoot import FakeClock, Folkmoot, MemoryJournal, Surroundings
from folkmoot.contract.verify import verify
from folkmoot.coordination import work_sessions as decide
from folkmoot.coordination.collaboration import AskMove, Move, Scene
from folkmoot.coordination.work_teams import Seat
from folkmoot.domain.errand import Errand
from folkmoot.domain.work_session import WorkSessionOpened
from folkmoot.engine.claims import LEASE, lock_record
from folkmoot.engine.collaboration import Collaboration, CollaborationStop, open_collaboration
from folkmoot.errors import WrongUse
from folkmoot.ports import Query
from tests.examples import copied

GOAL = "Add a health check to the shop"


class Crash(Exception):
    """The process is gone."""


class Workplace:
    """The example of five agents, on a journal that outlives every opening of it."""

    def __init__(self, folder) -> None:
        copied("collaboration", folder)
        self.folder = folder
        self.clock = FakeClock()
        self.journal = MemoryJournal(self.clock.monotonic)
        self.id = ""
        self.made: list[Move] = []

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    def open(self):
        around = Surroundings(env={}, clock=self.clock, journal=self.journal)
        return Folkmoot.open(self.folder, around=around)

    async def gather(self, *members: str) -> str:
        async with self.open() as moot:
            agents = members or tuple(agent.id for agent in moot.graph.agents.values())
            seats = [Seat(moot.agent(name).role, agent=name) for name in agents]
            self.id = (await open_collaboration(moot.moot, WorkSessionOpened(GOAL), seats, "a chance")).id
        return self.id

    async def carry_on(
        self, *, dies_at: int = -1, dies_after_run: int = -1
    ) -> tuple[CollaborationStop, Scene]:
        """Go on in a new process, which may die before a move, or right after a run before that is recorded."""
        moves = runs = 0

        def told(move: Move) -> None:
            nonlocal moves
            if moves == dies_at:
                raise Crash
            moves += 1
            self.made.append(move)

        async with self.open() as moot:

            async def start(agent: str, request: str, errand: Errand):
                nonlocal runs
                result = await moot.run(agent, request, errand=errand)
                if runs == dies_after_run:
                    raise Crash
                runs += 1
                return result

            collaboration = Collaboration(moot.moot, self.id, start, told)
            return await collaboration.carry_on(), await collaboration.scene()

    async def types(self, stream: str = "") -> list[str]:
        return [entry.event.type async for entry in self.journal.read(Query(stream=stream))]


@pytest.fixture
def workplace(tmp_path) -> Workplace:
    return Workplace(tmp_path)


async def test_a_team_plans_carries_out_decides_hands_over_reviews_and_sums_up(workplace):
    """D-39, D-14, D-15, D-16, D-18, D-19, D-20, D-22, D-37, D-41: the whole of a collaboration."""
    await workplace.gather()
    stopped, scene = await workplace.carry_on()

    assert stopped == CollaborationStop()
    assert [change.state for change in scene.work.history] == [
        "Initialized", "TeamFormed", "Planning", "Executing", "Reviewing", "Executing", "Reviewing", "Completed",
    ]  # fmt: skip
    assert scene.work.summary.startswith("The shop has a health check")
    (decision,) = scene.decisions
    assert (
        decision.topic
        == "s2 (Have the endpoint watched) is blocked: I have no access to the alarms; only the operator has."
    )
    assert (decision.how, decision.tie_break_by) == ("tie_break", "lead")
    assert Counter(vote.option for vote in decision.votes) == {"reassign-operator": 2, "retry": 2}
    assert scene.work.decisions == (decision.id,)
    assert [step.owner for step in scene.plan.steps] == ["coder", "operator"]
    assert [[review.verdict for review in step.reviews] for step in scene.plan.steps] == [
        ["accept"],
        ["change", "accept"],
    ]
    assert (workplace.folder / "notes" / "health.md").exists()


async def test_what_each_did_stands_in_the_journal_in_order_and_keeps_the_contract(workplace):
    """D-8, D-9, D-15, D-37, D-41: step events carry their owner, progress its percent, the handover both sides."""
    await workplace.gather()
    _, scene = await workplace.carry_on()
    events = [entry.event async for entry in workplace.journal.read(Query(stream=scene.plan.id))]

    of_s2 = [
        (each.type, each.owner)
        for each in events
        if getattr(each, "step", "") == "s2" and hasattr(each, "owner")
    ]
    assert [type for type, _ in of_s2] == [
        "step.started", "step.blocked", "step.resumed", "step.accepted", "step.started", "step.completed",
        "step.reviewed", "step.reopened", "step.started", "step.completed", "step.reviewed",
    ]  # fmt: skip
    assert [owner for _, owner in of_s2] == ["coder", "coder", *["operator"] * 9]
    assert [each.percent for each in events if each.type == "plan.progress"] == [0, 50, 100, 50, 100]
    handed = [each.type for each in events if each.type.startswith("handoff.")]
    assert handed == ["handoff.requested", "handoff.accepted", "handoff.completed"]
    assert not (await verify(workplace.journal)).faults


async def test_milestones_are_kept_as_snapshots(workplace):
    """D-29: one after the plan, one for each completed step; U-10: and one at the end."""
    await workplace.gather()
    _, scene = await workplace.carry_on()

    taken = [(each.reason, each.step) for each in scene.work.snapshots]
    assert taken == [
        ("plan_committed", ""), ("step_completed", "s1"), ("step_completed", "s2"), ("step_completed", "s2"),
        ("final", ""),
    ]  # fmt: skip
    assert all([await workplace.journal.artifact(each.artifact) for each in scene.work.snapshots])


async def test_what_was_done_and_decided_is_found_with_the_work_session_afterwards(workplace):
    """D-20: the summary, the artifacts and the records of what was decided; U-5: each step was a task."""
    await workplace.gather()
    _, scene = await workplace.carry_on()

    kept = {each.title: await workplace.journal.artifact(each.artifact) for each in scene.work.artifacts}
    (adr,) = [text for title, text in kept.items() if title.startswith("ADR: s2")]
    assert b"Tie-break by: lead" in adr
    assert any(title.startswith("step s1: ") for title in kept)
    assert {task.agent_id for task in scene.tasks.values()} == {"coder", "operator"}
    assert {task.status for task in scene.tasks.values()} == {"completed", "cancelled"}


async def test_a_process_that_dies_before_any_move_is_gone_on_with_and_nothing_is_done_twice(workplace):
    """D-27: kill and restart, all there."""
    await workplace.gather()
    undisturbed = Workplace(workplace.folder / "undisturbed")
    await undisturbed.gather()
    _, wanted = await undisturbed.carry_on()

    for move in range(len(undisturbed.made)):
        again = Workplace(workplace.folder / f"dies at {move}")
        await again.gather()
        with pytest.raises(Crash):
            await again.carry_on(dies_at=move)
        _, scene = await again.carry_on()

        assert scene.work.state == "Completed"
        assert scene.plan == wanted.plan
        assert Counter(await again.types()) == Counter(await undisturbed.types()), f"died before move {move}"


async def test_a_run_that_ended_before_its_process_died_is_not_run_again(workplace):
    """C3: no model is asked twice for the same part."""
    await workplace.gather()
    for run in (0, 3, 4, 6, 9):
        again = Workplace(workplace.folder / f"dies after run {run}")
        await again.gather()
        with pytest.raises(Crash):
            await again.carry_on(dies_after_run=run)
        _, scene = await again.carry_on()
        types = Counter(await again.types())

        assert scene.work.state == "Completed"
        assert types["run.started"] == types["run.completed"] == types["work_session.asked"]


async def test_a_plan_that_the_lead_rejects_is_revised_with_the_reason(workplace):
    """D-14, E-74, E-76: the reason is visible to whoever planned."""
    workplace.edit(
        "script.yaml",
        "calls: [{tool: plan_approve, arguments: {text: Short and checkable.}}]",
        "calls: [{tool: plan_reject, arguments: {reason: Who watches at night?}}]",
    )
    await workplace.gather()
    stopped, scene = await workplace.carry_on()

    asked = [
        move for move in workplace.made if isinstance(move, AskMove) and move.purpose.startswith("plan/")
    ]
    assert len(asked) == 3
    assert "Who watches at night?" in asked[1].blocks[0].text
    assert (stopped, scene.work.state) == (CollaborationStop(), "Error")
    assert "no plan was agreed on in 3 rounds: Who watches at night?" in scene.work.history[-1].reason


REVISION = """\
      - when: Revise plan
        calls:
          - tool: plan_submit
            arguments:
              plan_id: {plan}
              title: A health check for the shop
              steps: [{{description: Write it down, owner: coder, acceptance: it is written down}}]
"""


async def test_what_is_said_on_a_revised_plan_is_recorded_beside_what_was_said_before(workplace):
    """D-14: every round of reviews is heard, also of those who say the same again."""
    approving = "calls: [{tool: plan_approve, arguments: {text: Short and checkable.}}]"
    rejecting = "calls: [{tool: plan_reject, arguments: {reason: Who watches at night?}}]"
    before = Workplace(workplace.folder / "to learn the name of the plan")
    await before.gather()
    _, earlier = await before.carry_on()
    rule = "      - when: Submit a plan\n"
    workplace.edit("script.yaml", approving, rejecting)
    workplace.edit("script.yaml", rule, REVISION.format(plan=earlier.plan.id) + rule)
    await workplace.gather()
    _, scene = await workplace.carry_on()

    said = [(review.place, review.verdict) for review in scene.plan.reviews]
    assert sorted(said) == sorted(
        (f"review/{number}/{by}", verdict)
        for number in (1, 2, 3)
        for by, verdict in (("coder", "accept"), ("operator", "change"), ("reviewer", "accept"))
    )


async def test_a_plan_that_gives_a_step_to_a_stranger_is_sent_back_with_the_names(workplace):
    """D-4: nobody is asked to decide on what nobody could carry out."""
    workplace.edit("script.yaml", "owner: coder", "owner: the-night-shift")
    await workplace.gather()
    stopped, scene = await workplace.carry_on()

    asked = [move for move in workplace.made if isinstance(move, AskMove)]
    assert [move.purpose for move in asked] == ["plan/1", "plan/2", "plan/3"]
    said = "step s1 is given to 'the-night-shift', who carries out no steps; give it to coder, lead, operator"
    assert said in asked[1].blocks[0].text
    assert (stopped, scene.work.state) == (CollaborationStop(), "Error")


async def test_members_with_long_names_can_take_a_step_over(workplace):
    """D-18, D-41: the option names whoever is to take over, whole."""
    name = "operator-of-the-night-shift-in-the-second-building"
    (workplace.folder / "operator.ai").rename(workplace.folder / f"{name}.ai")
    for file in workplace.folder.iterdir():
        if file.suffix in (".ai", ".yaml"):
            file.write_text(re.sub(r"\boperator\b", name, file.read_text()))
    await workplace.gather()
    _, scene = await workplace.carry_on()

    assert scene.decisions[0].committed_option == f"reassign-{name}"
    assert scene.plan.steps[1].owner == name


async def test_a_run_that_somebody_cancelled_is_asked_anew_when_the_collaboration_goes_on(workplace):
    """D-27: whoever cancels one part and goes on with the whole wants that part done."""
    planner_waits = ("Submit a plan\n        delay: 0ms", "Submit a plan\n        delay: 1h")
    workplace.edit("script.yaml", *planner_waits)
    await workplace.gather()
    async with workplace.open() as moot:

        async def start(agent: str, request: str, errand: Errand):
            return await moot.run(agent, request, errand=errand)

        going = Collaboration(moot.moot, workplace.id, start, lambda move: None).carry_on()
        carrying = asyncio.create_task(going)
        async for entry in workplace.journal.follow():
            if entry.event.type == "llm.request":
                await moot.cancel(entry.stream)
                break
        stopped = await carrying
    workplace.edit("script.yaml", *reversed(planner_waits))
    _, scene = await workplace.carry_on()

    assert stopped.why == ("planner (plan/1) was cancelled",)
    assert scene.work.state == "Completed"


async def test_a_member_without_the_tool_to_vote_is_recorded_as_abstaining(workplace):
    """D-21: abstention on failure."""
    workplace.edit("reviewer.ai", "tools: [decisions]", "tools: []")
    await workplace.gather()
    _, scene = await workplace.carry_on()

    votes = scene.decisions[0].standing_votes
    assert votes["reviewer"].option == "abstain"
    assert scene.decisions[0].committed_option == "reassign-operator"
    assert scene.decisions[0].how == "vote"


async def test_a_step_that_fails_again_and_again_comes_before_a_person(workplace):
    workplace.edit(
        "script.yaml", "option: reassign-operator, reason: The alarms", "option: retry, reason: The alarms"
    )
    await workplace.gather()
    stopped, scene = await workplace.carry_on()

    assert stopped.why == (f"step s2 was tried 5 times; look at it: folkmoot plans show {scene.plan.id}",)
    assert scene.work.state == "Executing"


async def test_a_paused_collaboration_waits_until_it_is_resumed(workplace):
    """D-10: a paused session makes no model call."""
    await workplace.gather()
    async with workplace.open() as moot:
        await moot.moot.work_sessions.change(workplace.id, decide.paused("lunch"))
    stopped, _ = await workplace.carry_on()
    before = Counter(await workplace.types())
    async with workplace.open() as moot:
        await moot.moot.work_sessions.change(workplace.id, decide.resumed)
    _, scene = await workplace.carry_on()

    assert "is paused" in stopped.why[0]
    assert before["llm.request"] == 0
    assert scene.work.state == "Completed"


async def test_a_run_that_waits_for_a_person_makes_the_collaboration_wait_and_go_on_afterwards(workplace):
    """D-24, D-26 in the terminal: an approval releases the step."""
    workplace.edit("folkmoot.yaml", "decision: allow", "decision: ask")
    await workplace.gather()
    stopped, _ = await workplace.carry_on()
    assert stopped.why == ("coder (step/s1/1) waits for a person: folkmoot inbox list",)

    for _ in range(3):
        async with workplace.open() as moot:
            for item in await moot.inbox():
                if item.status == "open":
                    await moot.reply(item.approve())
        stopped, scene = await workplace.carry_on()

    assert scene.work.state == "Completed"


@pytest.mark.parametrize(
    ("members", "said"),
    [(("coder", "planner"), "the team has no lead"), (("lead", "nobody"), "nobody")],
)
async def test_a_team_that_could_reach_nothing_is_refused(workplace, members, said):
    """D-13: ask for a role without a capable agent."""
    with pytest.raises(WrongUse, match=said):
        await workplace.gather(*members)


async def test_a_lead_that_cannot_approve_is_refused_with_the_remedy(workplace):
    workplace.edit("lead.ai", "tools: [plans, decisions]", "tools: [decisions]")
    with pytest.raises(WrongUse, match="put `plans` into its `tools`"):
        await workplace.gather()


async def test_one_process_at_a_time_carries_it_on(workplace):
    """D-27: who comes second is told, and asks nobody; when the first is gone, the next may."""
    await workplace.gather()
    async with lock_record(workplace.journal, workplace.clock, workplace.id):
        await workplace.clock.advance(10 * LEASE)  # however long it takes
        second, _ = await workplace.carry_on()
    third, scene = await workplace.carry_on()

    assert second.why[0].startswith("another process carries it on, at ")
    assert (third, scene.work.state) == (CollaborationStop(), "Completed")
    assert (await workplace.types()).count("run.started") == len(scene.askings)
