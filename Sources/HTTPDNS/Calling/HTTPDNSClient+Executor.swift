internal import HTTPDNSCurl

extension HTTPDNSClient {
    /// Runs tasks on the client's loop thread, which saves them the way between threads, twice for each request.
    ///
    /// ```swift
    /// try await withTaskExecutorPreference(client.executor) {
    ///     let response = try await client.get("https://img.shop.example/a.jpg")
    ///     try await store(response.body.collect(upTo: .mebibytes(4)))
    /// }
    /// ```
    ///
    /// It is for a few short steps between requests. What runs there holds up **all** transfers of the client, and those of
    /// clients that share its transport and trust: default actors and async sequences that such a task calls run there as well,
    /// and so do interceptors. Code that computes for long, or blocks, belongs elsewhere; a blocking call is refused
    /// (``HTTPDNSClientError/Code/blockingRefused``).
    ///
    /// After the end of the client, tasks that prefer it go on where they would without.
    public var executor: any TaskExecutor { lane?.executor ?? globalConcurrentExecutor }
}
