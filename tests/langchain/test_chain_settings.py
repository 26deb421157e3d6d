"""Settings changed in a copy of a chain, or through its configuration."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import BaseChatModel, FakeListChatModel, FakeListLLM
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    ConfigurableField,
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
)
from langchain_core.vectorstores import InMemoryVectorStore, VectorStoreRetriever

from langchain_caco.chain_settings import MoreDocuments, Temperature, changed_chain

TWICE, COLD = MoreDocuments(2), Temperature(0.0)


class WarmModel(BaseChatModel):
    """Has a temperature, and remembers at which it was called."""

    temperature: float | None = 0.7
    calls: Any = None

    @property
    def _llm_type(self) -> str:
        return "warm"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any):
        self.calls.append(kwargs.get("temperature", self.temperature))
        return ChatResult(generations=[ChatGeneration(message=AIMessage("warm"))])


class BareModel(BaseChatModel):
    """Takes its temperature from the call alone."""

    calls: Any = None

    @property
    def _llm_type(self) -> str:
        return "bare"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any):
        self.calls.append(kwargs.get("temperature"))
        return ChatResult(generations=[ChatGeneration(message=AIMessage("bare"))])


class Counting(BaseRetriever):
    """Returns its ``k`` documents; a call may ask for another number."""

    k: int = 3

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return [Document(page_content=f"{query} {n}") for n in range(self.k if k is None else k)]


class Naming(BaseRetriever):
    """Returns one document for each setting that it has."""

    top_k: int = 5
    other: int = 7

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(page_content=str(self.top_k)), Document(page_content=str(self.other))]


class Composite(BaseRetriever):
    """Asks two others."""

    first: Any
    rest: list[Any]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        config = {"callbacks": run_manager.get_child()}
        return [d for inner in (self.first, *self.rest) for d in inner.invoke(query, config)]


@pytest.fixture(scope="module")
def store():
    made = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    made.add_texts([f"text {number}" for number in range(60)])
    return made


def found(chain, config=None, change=TWICE, value="q"):
    """How many documents a chain returns with a change."""
    changed, settings = changed_chain(chain, config or {}, change)
    return len(changed.invoke(value, settings))


# Retrievers


@pytest.mark.parametrize(("kwargs", "count"), [({"k": 3}, 6), ({}, 8), ({"k": 1}, 2)])
def test_a_vector_stores_retriever_returns_more(store, kwargs, count):
    retriever = store.as_retriever(search_kwargs=kwargs)
    assert found(retriever) == count
    assert found(retriever, change=MoreDocuments(4)) == 2 * count
    assert retriever.search_kwargs == kwargs


def test_without_search_arguments_the_stores_count_is_multiplied(store):
    class Own(BaseRetriever):
        vectorstore: Any
        search_kwargs: dict[str, Any] | None = None

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return self.vectorstore.similarity_search(query, **(self.search_kwargs or {}))

    assert found(Own(vectorstore=store)) == 8


def test_other_search_arguments_stay(store):
    retriever = store.as_retriever(
        search_kwargs={"k": 3, "filter": lambda d: "1" in d.page_content}
    )
    changed, _ = changed_chain(retriever, {}, TWICE)
    assert all("1" in document.page_content for document in changed.invoke("q"))
    assert len(changed.invoke("q")) == 6


@pytest.mark.parametrize(
    ("kwargs", "expected"),
    [
        ({"k": 15}, {"k": 30, "fetch_k": 40}),
        ({"k": 4, "fetch_k": 9}, {"k": 8, "fetch_k": 18}),
        ({}, {"k": 8, "fetch_k": 40}),
    ],
)
def test_maximal_marginal_relevance_chooses_among_more(store, kwargs, expected):
    pytest.importorskip("numpy")
    retriever = store.as_retriever(search_type="mmr", search_kwargs=kwargs)
    changed, _ = changed_chain(retriever, {}, TWICE)
    assert changed.search_kwargs == expected
    assert len(changed.invoke("q")) == expected["k"]


def test_a_count_in_a_field_is_multiplied():
    assert found(Counting()) == 6
    changed, _ = changed_chain(Naming(), {}, TWICE)
    assert [document.page_content for document in changed.invoke("q")] == ["10", "7"]


def test_a_bound_count_is_multiplied(store):
    assert found(store.as_retriever().bind(k=5)) == 10
    assert found(Counting().bind(k=2).with_config(tags=["x"])) == 4


def test_retrievers_in_a_retriever_are_reached(store):
    assert found(Composite(first=Counting(), rest=[Counting(k=1), store.as_retriever()])) == 16


def test_what_has_no_count_is_left_alone():
    class Plain(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return []

    class Optional(Plain):
        search_kwargs: dict[str, Any] | None = None

    assert changed_chain(Plain(), {}, TWICE) is None
    assert changed_chain(Optional(), {}, TWICE) is None
    unknown = Counting.model_construct(k="many")
    assert changed_chain(unknown, {}, TWICE) is None
    assert changed_chain(RunnablePassthrough(), {}, TWICE) is None


# Where in a chain


def shapes(retriever):
    """The ways in which a retriever may stand in a chain that returns its documents."""
    return {
        "itself": retriever,
        "sequence": RunnablePassthrough() | retriever | RunnablePassthrough(),
        "middle": RunnablePassthrough() | RunnablePassthrough() | retriever | RunnablePassthrough(),
        "parallel": {"d": retriever, "q": RunnablePassthrough()} | RunnableLambda(itemgetter("d")),
        "assign": (
            RunnableLambda(lambda q: {"q": q})
            | RunnablePassthrough.assign(d=itemgetter("q") | retriever)
            | itemgetter("d")
        ),
        "branch": RunnableBranch((lambda q: q == "x", RunnablePassthrough()), retriever),
        "branches": RunnableBranch((lambda q: q == "q", retriever), RunnablePassthrough()),
        "fallback": RunnableLambda(broken).with_fallbacks([retriever]),
        "retry": retriever.with_retry(),
        "config": (RunnablePassthrough() | retriever).with_config(tags=["x"]),
        "types": (RunnablePassthrough() | retriever).with_types(input_type=str),
        "each": (lambda q: [q]) | retriever.map() | (lambda found: found[0]),
    }


def broken(_):
    raise RuntimeError("broken")


@pytest.mark.parametrize("shape", list(shapes(Counting())))
def test_it_is_found_wherever_it_stands(shape):
    assert found(shapes(Counting())[shape]) == 6


@pytest.mark.parametrize("shape", list(shapes(Counting())))
def test_a_configurable_one_is_set_through_the_configuration(shape):
    retriever = Counting().configurable_fields(k=ConfigurableField(id="count"))
    chain = shapes(retriever)[shape]
    assert found(chain) == 6
    assert found(chain, {"configurable": {"count": 5}}) == 10
    changed, config = changed_chain(chain, {"configurable": {"count": 5, "more": 1}}, TWICE)
    assert changed is chain
    assert config["configurable"] == {"count": 10, "more": 1}


def test_the_given_chain_and_configuration_stay_as_they_are():
    retriever = Counting()
    chain = RunnablePassthrough() | retriever
    config = {"configurable": {"a": 1}, "tags": ["t"]}
    changed_chain(chain, config, TWICE)
    assert retriever.k == 3
    assert chain.last is retriever
    assert config == {"configurable": {"a": 1}, "tags": ["t"]}


def test_what_a_with_config_sets_is_what_is_multiplied():
    retriever = Counting().configurable_fields(k=ConfigurableField(id="count"))
    bound = retriever.with_config(configurable={"count": 4})
    outer = (RunnablePassthrough() | bound).with_config(configurable={"count": 7})
    assert found(bound) == 8
    assert found(RunnablePassthrough() | bound) == 8
    assert found(outer) == 14
    assert found(outer, {"configurable": {"count": 1}}) == 2


def test_search_arguments_are_configurable(store):
    retriever = store.as_retriever(search_kwargs={"k": 2}).configurable_fields(
        search_kwargs=ConfigurableField(id="search")
    )
    assert found(retriever) == 4
    assert found(retriever, {"configurable": {"search": {"k": 5}}}) == 10


def test_a_field_that_is_not_configurable_is_changed_in_a_copy(store):
    retriever = store.as_retriever(search_kwargs={"k": 2}).configurable_fields(
        search_type=ConfigurableField(id="kind")
    )
    assert found(retriever) == 4
    assert found(retriever, {"configurable": {"kind": "mmr"}}) == 4


def test_alternatives_are_reached():
    chain = Counting().configurable_alternatives(
        ConfigurableField(id="which"), default_key="three", ten=Counting(k=10)
    )
    assert found(chain) == 6
    assert found(chain, {"configurable": {"which": "ten"}}) == 20


def test_within_a_function_only_the_configuration_reaches():
    retriever = Counting()
    configurable = retriever.configurable_fields(k=ConfigurableField(id="count"))
    assert changed_chain(RunnableLambda(lambda q: retriever.invoke(q)), {}, TWICE) is None
    assert found(RunnableLambda(lambda q: configurable.invoke(q))) == 6
    inner = RunnablePassthrough() | configurable | RunnablePassthrough()
    assert found(RunnableLambda(lambda q: inner.invoke(q))) == 6


def test_a_function_that_calls_its_own_chain_is_no_endless_loop():
    def again(value):
        return chain.invoke(value[1:]) if value else []

    chain = RunnableLambda(again) | RunnablePassthrough()
    assert changed_chain(chain, {}, TWICE) is None
    assert chain.invoke("ab") == []


def test_one_retriever_in_two_places_is_one_in_the_copy():
    retriever = Counting()
    changed, _ = changed_chain(RunnableParallel(a=retriever, b=retriever), {}, TWICE)
    assert changed.steps__["a"] is changed.steps__["b"]
    assert len(changed.invoke("q")["b"]) == 6


# Models


def called(chain, model, config=None, value="q"):
    """At which temperature a model is called with the change."""
    changed, settings = changed_chain(chain, config or {}, COLD)
    changed.invoke(value, settings)
    return model.calls[-1]


@pytest.mark.parametrize("kind", [WarmModel, BareModel])
def test_a_model_is_called_cold(kind):
    model = kind(calls=[])
    prompt = ChatPromptTemplate.from_template("{q}")
    for chain in (
        model,
        model | StrOutputParser(),
        model.bind(stop=["x"]),
        model.bind(temperature=0.9),
        model.bind(temperature=0.9).with_config(tags=["x"]) | StrOutputParser(),
        model.with_retry(),
    ):
        assert called(chain, model) == 0.0
    chain = RunnablePassthrough.assign(answer=prompt | model)
    assert called(chain, model, value={"q": "q"}) == 0.0
    (prompt | model).invoke({"q": "q"})
    assert model.calls[-1] == (0.7 if kind is WarmModel else None)


def test_a_configurable_temperature_is_set_through_the_configuration():
    model = WarmModel(calls=[])
    chain = model.configurable_fields(temperature=ConfigurableField(id="heat"))
    assert called(chain, model) == 0.0
    assert called(chain, model, {"configurable": {"heat": 0.9}}) == 0.0
    hidden = RunnableLambda(lambda q: chain.invoke(q))
    assert called(hidden, model) == 0.0


def test_what_is_cold_already_is_not_changed():
    assert changed_chain(WarmModel(temperature=0), {}, COLD) is None
    model = WarmModel().configurable_fields(temperature=ConfigurableField(id="heat"))
    assert changed_chain(model, {"configurable": {"heat": 0.0}}, COLD) is None
    assert changed_chain(BareModel().bind(temperature=0.0).bound, {}, COLD) is not None


def test_models_that_complete_texts_are_reached():
    seen = []

    class Completing(FakeListLLM):
        def _call(self, prompt: str, stop: Any = None, run_manager: Any = None, **kwargs: Any):
            seen.append(kwargs)
            return "x"

    changed, _ = changed_chain(Completing(responses=["x"]), {}, COLD)
    changed.invoke("q")
    assert seen == [{"temperature": 0.0}]


def test_a_bound_model_shares_its_state_with_the_given_one():
    model = FakeListChatModel(responses=["one", "two"])
    changed, _ = changed_chain(model, {}, COLD)
    assert [changed.invoke("q").text, model.invoke("q").text] == ["one", "two"]


def test_each_change_leaves_the_others_part_alone():
    model, retriever = WarmModel(calls=[]), Counting()
    chain = RunnableParallel(answer=model, context=retriever)
    colder, _ = changed_chain(chain, {}, COLD)
    assert colder.steps__["context"] is retriever
    wider, _ = changed_chain(chain, {}, TWICE)
    assert wider.steps__["answer"] is model


def test_old_chains_are_reached(store):
    chains = pytest.importorskip("langchain_classic.chains")
    retrievers = pytest.importorskip("langchain_classic.retrievers")
    from langchain_classic.chains.combine_documents import create_stuff_documents_chain

    model = WarmModel(calls=[])
    prompt = ChatPromptTemplate.from_template("{context} {input}")
    chain = chains.create_retrieval_chain(
        retrievers.MergerRetriever(retrievers=[store.as_retriever(search_kwargs={"k": 2})]),
        create_stuff_documents_chain(model, prompt),
    )
    wider, config = changed_chain(chain, {}, TWICE)
    assert len(wider.invoke({"input": "q"}, config)["context"]) == 4
    assert called(chain, model, value={"input": "q"}) == 0.0
    assert isinstance(store.as_retriever(), VectorStoreRetriever)
