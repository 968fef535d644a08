# SPDX-License-Identifier: Apache-2.0
# Holds one conversation through a Python SDK and prints, one JSON line an answer, how many tools it has called.
#
#   converse.py SPEAKER GATEWAY_URL SCRIPT_AS_JSON
import json
import sys


def say(tool_calls):
    print(json.dumps({"tool_calls": tool_calls}), flush=True)


def chat(ask, script):
    """`ask(messages, stream)` answers the message of a chat completion."""
    messages = [{"role": "system", "content": script["system"]}]
    for index, question in enumerate(script["questions"]):
        messages.append({"role": "user", "content": question})
        called = None
        while called != []:
            message = ask(messages, index > 0)
            messages.append(message)
            called = message.tool_calls or []
            for call in called:
                result = {"role": "tool", "tool_call_id": call.id, "content": script["toolResult"]}
                messages.append(result)
            say(len(called))


def openai_chat(url, script):
    import openai

    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)

    def ask(messages, stream):
        request = {
            "model": script["model"],
            "max_completion_tokens": script["maxTokens"],
            "messages": messages,
            "tools": [{"type": "function", "function": script["tool"]}],
        }
        if not stream:
            return client.chat.completions.create(**request).choices[0].message
        with client.chat.completions.stream(**request) as events:
            return events.get_final_completion().choices[0].message

    chat(ask, script)


def openai_responses(url, script, stored=False):
    import openai

    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    history = []
    previous = openai.omit

    def ask(items, stream):
        request = {
            "model": script["model"],
            "instructions": script["system"],
            "max_output_tokens": script["maxTokens"],
            "tools": [{"type": "function", "strict": True, **script["tool"]}],
            "input": items,
            "previous_response_id": previous,
            "store": stored,
        }
        if not stream:
            return client.responses.create(**request)
        with client.responses.stream(**request) as events:
            return events.get_final_response()

    for index, question in enumerate(script["questions"]):
        news = [{"role": "user", "content": question}]
        while news:
            history.extend(news)
            response = ask(news if stored else history, index > 0)
            if stored:
                previous = response.id
            history.extend(response.output)
            news = [
                {
                    "type": "function_call_output",
                    "call_id": item.call_id,
                    "output": script["toolResult"],
                }
                for item in response.output
                if item.type == "function_call"
            ]
            say(len(news))


def openai_stored_responses(url, script):
    openai_responses(url, script, stored=True)


def anthropic_messages(url, script):
    import anthropic

    client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
    tool = script["tool"]
    messages = []

    def ask(stream):
        request = {
            "model": script["model"],
            "max_tokens": script["maxTokens"],
            "system": script["system"],
            "messages": messages,
            "tools": [
                {
                    "name": tool["name"],
                    "description": tool["description"],
                    "input_schema": tool["parameters"],
                }
            ],
        }
        if not stream:
            return client.messages.create(**request)
        with client.messages.stream(**request) as events:
            return events.get_final_message()

    for index, question in enumerate(script["questions"]):
        messages.append({"role": "user", "content": question})
        results = None
        while results != []:
            message = ask(index > 0)
            messages.append({"role": "assistant", "content": message.content})
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": script["toolResult"]}
                for block in message.content
                if block.type == "tool_use"
            ]
            if results:
                messages.append({"role": "user", "content": results})
            say(len(results))


def litellm_as(provider, base):
    """LiteLLM writes every provider's dialect from OpenAI's messages."""

    def talk(url, script):
        import litellm

        litellm.suppress_debug_info = True  # It prints advice among the answers.

        def ask(messages, stream):
            answer = litellm.completion(
                model=f"{provider}/{script['model']}",
                api_base=f"{url}{base}",
                api_key="none",
                max_retries=0,
                max_tokens=script["maxTokens"],
                messages=messages,
                tools=[{"type": "function", "function": script["tool"]}],
                stream=stream,
            )
            if stream:
                answer = litellm.stream_chunk_builder(list(answer), messages=messages)
            return answer.choices[0].message

        chat(ask, script)

    return talk


SPEAKERS = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "openai-stored-responses": openai_stored_responses,
    "anthropic-messages": anthropic_messages,
    "litellm-openai": litellm_as("openai", "/v1"),
    "litellm-anthropic": litellm_as("anthropic", ""),
}

if __name__ == "__main__":
    SPEAKERS[sys.argv[1]](sys.argv[2], json.loads(sys.argv[3]))
