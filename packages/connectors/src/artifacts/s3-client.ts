/** Signed requests to a bucket of S3, or of a service that speaks its protocol. */
import { AwsV4Signer } from "aws4fetch";
import { type Dispatcher, request } from "undici";

export interface S3Connection {
  readonly bucket: string;
  /** The address of the service. Default: that of AWS in the region. */
  readonly endpoint?: string | undefined;
  /** Default `us-east-1`. */
  readonly region?: string | undefined;
  readonly accessKey?: string | undefined;
  readonly secretKey?: string | undefined;
  /** For temporary credentials. */
  readonly sessionToken?: string | undefined;
  /** Whether the bucket is part of the path, not of the host. Default true. */
  readonly pathStyle?: boolean | undefined;
}

export interface S3Request {
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The store refused a request, or failed. The text has the store's own code, such as `NoSuchBucket`. */
export class S3Error extends Error {
  override readonly name: string = "S3Error";
  readonly status: number;

  constructor(status: number, text: string) {
    const code = textOf(text, "Code") ?? "no code";
    super(`The artifact store responded with status ${status} (${code})`);
    this.status = status;
  }
}

export class S3Client {
  readonly #base: URL;
  readonly #credentials: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string;
    readonly region: string;
    readonly service: "s3";
  };

  constructor(connection: S3Connection) {
    const { bucket, region = "us-east-1", accessKey = "", secretKey = "", sessionToken } = connection;
    const endpoint = connection.endpoint ?? `https://s3.${region}.amazonaws.com`;
    if (!URL.canParse(endpoint) || !/^https?:/.test(endpoint))
      throw new TypeError(`The endpoint of an S3 store must be an http or https URL, not ${endpoint}`);
    if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
      throw new TypeError("The bucket of an S3 store must be a name such as my-bucket");
    this.#base = new URL(endpoint);
    if (connection.pathStyle ?? true) this.#base.pathname += `${this.#slash()}${bucket}/`;
    else {
      this.#base.host = `${bucket}.${this.#base.host}`;
      this.#base.pathname += this.#slash();
    }
    this.#credentials = {
      accessKeyId: accessKey,
      secretAccessKey: secretKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      region,
      service: "s3",
    };
  }

  /** Sends a request for an object, or for the bucket itself if the name is empty. Rejects unless it succeeds. */
  async send(method: string, name: string, options: S3Request = {}): Promise<Dispatcher.ResponseData> {
    const { body, signal } = options;
    const signed = await new AwsV4Signer({
      ...this.#credentials,
      method,
      url: this.#url(name, options.query),
      headers: { ...options.headers },
    }).sign();
    const response = await request(signed.url, {
      method: method as Dispatcher.HttpMethod,
      headers: Object.fromEntries(signed.headers),
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.statusCode < 300) return response;
    throw new S3Error(response.statusCode, await response.body.text());
  }

  /** Sends a request and returns the text of the response. */
  async text(method: string, name: string, options?: S3Request): Promise<string> {
    return await (await this.send(method, name, options)).body.text();
  }

  /** A link with a signature that ends. */
  async link(name: string, seconds: number, query: Readonly<Record<string, string>>): Promise<string> {
    const url = this.#url(name, { ...query, "X-Amz-Expires": String(seconds) });
    const signed = await new AwsV4Signer({
      ...this.#credentials,
      method: "GET",
      url,
      signQuery: true,
    }).sign();
    return signed.url.href;
  }

  #url(name: string, query: Readonly<Record<string, string>> = {}): string {
    const url = new URL(this.#base);
    // A bucket has no slash at its end.
    if (name === "") url.pathname = url.pathname.replace(/(?!^)\/$/, "");
    else url.pathname += name;
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
    return url.href;
  }

  #slash(): string {
    return this.#base.pathname.endsWith("/") ? "" : "/";
  }
}

/** The text of the first element with this name. */
export function textOf(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
}
