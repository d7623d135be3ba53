"""What somebody said about the work reaches whoever plans, decides or does it: it stands in what models are sent."""

FRIDAY = "- Nothing is deployed on a Friday"


def sent(shop):
    """What the first message of every session said, by agent."""
    started = shop("events", "--type", "session.started", "--limit", "1000", "--json").json
    return [(event["agentId"], event["data"]["request"]) for event in started]


def test_the_constraints_of_a_collaboration_reach_everybody_in_every_part(shop):
    """K-61: planner, lead, reviewers, owners and voters."""
    assert (
        shop("collaborate", "Add a health check", "--constraint", FRIDAY.removeprefix("- "), "-q").code == 0
    )

    assert {agent for agent, _ in sent(shop)} == {"planner", "lead", "reviewer", "coder", "operator"}
    assert [request for _, request in sent(shop) if FRIDAY not in request] == []


def test_the_constraints_of_a_work_session_reach_every_run_in_it(shop):
    """K-61: one that joins it, the step of a plan, and an agent that is told to go on with its task."""
    plan = shop.folder / "plan.yaml"
    shop("work", "open", "Ship it", "--constraint", FRIDAY.removeprefix("- "))
    work = shop("work", "show", "last", "--json").json["id"]
    plan.write_text(
        f"title: Ship\nwork_session: {work}\nsteps: [{{description: Pack, owner: coder, acceptance: It is packed}}]\n"
    )
    assert shop("run", "reviewer.ai", "Look at it.", "--work-session", work).code == 0
    for arguments in (
        ("draft", "--file", "plan.yaml"),
        ("submit", "last"),
        ("approve", "last", "--commit"),
        ("run", "last", "s1"),
    ):
        assert shop("plans", *arguments).code == 0

    assert [agent for agent, _ in sent(shop)] == ["reviewer", "coder"]
    assert [request for _, request in sent(shop) if FRIDAY not in request] == []


def test_a_run_of_no_such_work_session_is_sent_its_request_alone(shop):
    shop("run", "reviewer.ai", "Look at it.")

    assert sent(shop) == [("reviewer", "Look at it.")]


def test_the_lead_is_shown_what_it_decides_on(shop):
    """K-61: the tools that a plan asks for, and what was said for each option of a tie."""
    shop("collaborate", "Add a health check", "-q")
    requests = [request for agent, request in sent(shop) if agent == "lead"]

    assert [request for request in requests if "tools that do more than read: files.write" in request]
    (tie,) = [request for request in requests if "You lead, and the votes" in request]
    assert "retry: It is quicker." in tie


def test_all_that_is_said_about_a_step_reaches_its_owner(shop):
    """K-61: why, what it gives, when to stop, and why it was passed on."""
    step = "description: Pack, owner: coder, acceptance: Packed, rationale: It is late, expected_outputs: [a box]"
    (shop.folder / "plan.yaml").write_text(
        f"title: Ship\nsteps: [{{{step}, stop_condition: the box is full}}]\n"
    )
    for arguments in (
        *(("draft", "--file", "plan.yaml"), ("submit", "last"), ("approve", "last", "--commit")),
        ("reassign", "last", "s1", "operator", "--reason", "Knows the boxes."),
        *(("accept", "last", "s1"), ("run", "last", "s1")),
    ):
        assert shop("plans", *arguments).code == 0, arguments
    ((owner, request),) = sent(shop)

    assert owner == "operator"
    for said in (
        "Packed",
        "why: It is late",
        "gives: a box",
        "stops when: the box is full",
        "Knows the boxes.",
    ):
        assert said in request


def test_when_a_task_is_due_reaches_its_agent(shop):
    """K-61: with how much work it is thought to be."""
    shop("tasks", "add", "Write the notes", "--agent", "coder", "--due", "2026-02-01", "--effort", "small")
    shop("watch", "--once", "--set", "agents.defaults.taskContinuation.idleThreshold=1ms")
    ((_, request),) = sent(shop)

    assert "Due: 2026-02-01\nEstimated effort: small" in request
