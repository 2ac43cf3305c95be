// The files of target foundry as types of the platform's own packages; generate.sh makes a JSON Schema of each exported type.
import type { Dimension, EvaluatorVersion, RubricBasedEvaluatorDefinition } from "@azure/ai-projects";
import type { EvalCreateParams } from "openai/resources/evals/evals";
import type { CreateEvalJSONLRunDataSource, RunCreateParams } from "openai/resources/evals/runs/runs";
import type { StringCheckGrader } from "openai/resources/graders/grader-models";

/** Only what a client sends: EvaluatorVersion without what the service fills in. */
type Sent = "display_name" | "metadata" | "evaluator_type" | "categories" | "supported_evaluation_levels" | "name" | "description" | "tags";

/** The definition without init_parameters, data_schema and metrics, whose types are any. */
type Rubric = Pick<RubricBasedEvaluatorDefinition, "type" | "pass_threshold"> & { dimensions: Dimension[] };

/** foundry/evaluator.json */
export type Evaluator = Pick<EvaluatorVersion, Sent> & { definition: Rubric };

/** Foundry's own criterion: neither package has a type for it; its fields are those of the service's samples. */
export interface AzureAIEvaluator {
  type: "azure_ai_evaluator";
  name: string;
  evaluator_name: string;
  evaluator_version?: string;
  initialization_parameters?: { deployment_name: string };
  data_mapping?: Record<string, string>;
}

/** foundry/eval_graded.json and foundry/eval_tasks.json */
export type Eval = Pick<EvalCreateParams, "name" | "metadata"> & {
  data_source_config: EvalCreateParams.Custom;
  testing_criteria: (StringCheckGrader | AzureAIEvaluator)[];
};

/** foundry/run_graded.json */
export type Run = Pick<RunCreateParams, "name" | "metadata"> & { data_source: CreateEvalJSONLRunDataSource };
