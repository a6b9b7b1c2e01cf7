/** Whether a Content-Type is JSON, such as `application/json` or `application/problem+json`. */
export function isJsonType(contentType: string): boolean {
  return /^application\/([\w.-]+\+)?json *(;|$)/i.test(contentType);
}
