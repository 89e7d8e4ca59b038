"""Expands the template as AWS would and checks the result.

A SAM template is not what gets deployed: cfn-lint passes a misspelt value in it that it catches once the template
is expanded. The expansion needs no network. Afterwards the promises of the README are checked: what the roles
may do, who may call, what the bucket refuses.
"""

import copy
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from cfnlint.decode import decode
from samtranslator.parser.parser import Parser
from samtranslator.translator.transform import transform

REGION = "eu-central-1"
TEMPLATE = Path(__file__).with_name("template.yaml")


class NoManagedPolicies:
    """The translator asks for AWS's managed policies; the template names none."""

    def load(self):
        return {}


def plain(node):
    """Drops the line numbers cfn-lint keeps in its strings and maps."""
    return json.loads(json.dumps(node))


def expanded():
    template, problems = decode(str(TEMPLATE))
    if problems:
        raise SystemExit("\n".join(str(problem) for problem in problems))
    template = plain(template)
    # The translator takes uploaded code only.
    template["Resources"]["Function"]["Properties"]["CodeUri"] = "s3://bucket/key"
    parameters = {
        name: parameter["Default"] for name, parameter in template["Parameters"].items() if "Default" in parameter
    }
    import os

    os.environ.setdefault("AWS_DEFAULT_REGION", REGION)
    return plain(transform(template, parameters, NoManagedPolicies()))


def lint(template):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(template, file)
        file.flush()
        cfn_lint = Path(sys.executable).with_name("cfn-lint")
        return subprocess.run([cfn_lint, "--regions", REGION, "--", file.name]).returncode


def statements(resources, role):
    """Yields every statement of a role, from inside it and from beside it."""
    for policy in resources[role]["Properties"].get("Policies", []):
        yield from policy["PolicyDocument"]["Statement"]
    for resource in resources.values():
        if resource["Type"] == "AWS::IAM::RolePolicy" and resource["Properties"]["RoleName"] == {"Ref": role}:
            yield from resource["Properties"]["PolicyDocument"]["Statement"]


def policies_elsewhere(resources):
    """Names what could give a role more than its own statements say."""
    for name, resource in resources.items():
        properties = resource.get("Properties", {})
        if resource["Type"] in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::S3::AccessPoint"):
            yield f"{name}: a policy beside the roles"
        if resource["Type"] == "AWS::IAM::RolePolicy" and set(properties["RoleName"]) != {"Ref"}:
            yield f"{name}: a policy of a role that is not named by reference"
        if resource["Type"] == "AWS::IAM::Role" and "ManagedPolicyArns" in properties:
            yield f"{name}: a policy that AWS may change"
        if resource["Type"] == "AWS::S3::BucketPolicy":
            for statement in several(properties["PolicyDocument"]["Statement"]):
                if statement["Effect"] != "Deny":
                    yield f"{name}: the bucket itself lets someone in"


def several(value):
    return value if isinstance(value, list) else [value]


def granted(resources, role):
    """Returns the pairs of action and resource a role is allowed."""
    pairs = set()
    for statement in statements(resources, role):
        assert statement["Effect"] == "Allow", f"{role}: only what is allowed is listed"
        assert not {"NotAction", "NotResource", "NotPrincipal"} & set(statement), f"{role}: all but something"
        for action in several(statement["Action"]):
            for resource in several(statement["Resource"]):
                pairs.add((action, json.dumps(resource)))
    return pairs


def text(template):
    return json.dumps({"Fn::Sub": template})


def check(template):
    resources = template["Resources"]
    pointer = text("${Bucket.Arn}/${Prefix}/current.json")
    archives = text("${Bucket.Arn}/${Prefix}/archives/*")
    bucket = json.dumps({"Fn::GetAtt": ["Bucket", "Arn"]})
    log = text("arn:${AWS::Partition}:logs:${AWS::Region}:${AWS::AccountId}:log-group:${Logs}:*")

    expected = {
        ("logs:CreateLogStream", log),
        ("logs:PutLogEvents", log),
        ("s3:GetObject", pointer),
        ("s3:GetObject", archives),
        ("s3:ListBucket", bucket),
    }
    found = granted(resources, "FunctionRole")
    assert found == expected, f"the function's role may do other things: {found ^ expected}"
    elsewhere = list(policies_elsewhere(resources))
    assert not elsewhere, elsewhere
    trust = resources["FunctionRole"]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert [each["Principal"] for each in trust] == [{"Service": "lambda.amazonaws.com"}], trust

    expected = {
        *(("s3:GetObject", each) for each in (pointer, archives)),
        *(("s3:PutObject", each) for each in (pointer, archives)),
        ("s3:DeleteObject", archives),
        ("s3:AbortMultipartUpload", archives),
        ("s3:ListBucket", bucket),
    }
    found = granted(resources, "PublishRole")
    assert found == expected, f"the publisher's role may do other things: {found ^ expected}"
    (trust,) = resources["PublishRole"]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert set(trust["Condition"]) == {"StringEquals"}, "the publisher is named exactly, without patterns"
    assert len(trust["Condition"]["StringEquals"]) == 2, trust

    roles = {name for name, each in resources.items() if each["Type"] == "AWS::IAM::Role"}
    assert roles == {"FunctionRole", "PublishRole"}, roles

    function = resources["Function"]["Properties"]
    assert function["Role"] == {"Fn::GetAtt": ["FunctionRole", "Arn"]}
    assert function["Runtime"] == "provided.al2023"

    variables = function["Environment"]["Variables"]
    assert variables["WAKASHU_TOKENS_SHA256"] == {"Ref": "TokensSha256"}, variables
    assert template["Parameters"]["TokensSha256"]["NoEcho"] is True, "hashes of tokens are shown to nobody"

    permissions = [each["Properties"] for each in resources.values() if each["Type"] == "AWS::Lambda::Permission"]
    by_action = {each["Action"]: each for each in permissions}
    assert len(permissions) == 2 and set(by_action) == {"lambda:InvokeFunctionUrl", "lambda:InvokeFunction"}
    assert by_action["lambda:InvokeFunctionUrl"]["FunctionUrlAuthType"] == "NONE"
    assert by_action["lambda:InvokeFunction"]["InvokedViaFunctionUrl"] is True, "through the URL only"

    store = resources["Bucket"]
    assert store["DeletionPolicy"] == store["UpdateReplacePolicy"] == "Retain"
    assert all(store["Properties"]["PublicAccessBlockConfiguration"].values())
    assert len(store["Properties"]["PublicAccessBlockConfiguration"]) == 4
    assert store["Properties"]["VersioningConfiguration"]["Status"] == "Enabled"
    assert store["Properties"]["BucketEncryption"] and store["Properties"]["LifecycleConfiguration"]

    alarms = {each["Properties"]["MetricName"] for each in resources.values()
              if each["Type"] == "AWS::CloudWatch::Alarm" and each["Properties"]["Namespace"] == "AWS/Lambda"}
    assert alarms == {"Errors", "Throttles", "Duration"}, alarms


def wider(template):
    """Yields templates that give the function more than it needs, each by another way; none may pass."""

    def changed(change):
        other = copy.deepcopy(template)
        change(other["Resources"])
        return other

    def reads(resources):
        return resources["FunctionReadsArchives"]["Properties"]["PolicyDocument"]["Statement"][0]

    everything = {"Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
    to_role = {"PolicyName": "more", "PolicyDocument": everything}
    yield "writes", changed(lambda each: reads(each).update(Action=["s3:GetObject", "s3:PutObject"]))
    yield "any action", changed(lambda each: reads(each).update(Action="s3:*"))
    yield "the whole bucket", changed(lambda each: reads(each).update(Resource={"Fn::Sub": "${Bucket.Arn}/*"}))
    yield "any bucket", changed(lambda each: reads(each).update(Resource="*"))
    yield "another prefix", changed(lambda each: reads(each).update(Resource={"Fn::Sub": "${Bucket.Arn}/x/*"}))
    yield "all but one action", changed(lambda each: reads(each).update(NotAction="s3:DeleteObject"))
    yield "inside the role", changed(lambda each: each["FunctionRole"]["Properties"]["Policies"].append(to_role))
    yield "a managed policy", changed(
        lambda each: each["FunctionRole"]["Properties"].update(ManagedPolicyArns=["arn:aws:iam::aws:policy/X"])
    )
    yield "a policy beside", changed(
        lambda each: each.update(
            More={"Type": "AWS::IAM::Policy", "Properties": {**to_role, "Roles": [{"Ref": "FunctionRole"}]}}
        )
    )
    yield "another role", changed(
        lambda each: each["Function"]["Properties"].update(Role={"Fn::GetAtt": ["PublishRole", "Arn"]})
    )
    public = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "*"}
    yield "the bucket's own policy", changed(
        lambda each: each.update(
            Open={"Type": "AWS::S3::BucketPolicy", "Properties": {"PolicyDocument": {"Statement": [public]}}}
        )
    )


def check_the_check(template):
    for name, other in wider(template):
        try:
            check(other)
        except AssertionError:
            continue
        raise SystemExit(f"the check of roles lets pass: {name}")


def main():
    template = expanded()
    if "--show" in sys.argv[1:]:
        print(json.dumps(template, indent=2))
    failed = lint(template)
    check(template)
    check_the_check(template)
    return failed


if __name__ == "__main__":
    sys.exit(main())
