internal import HTTPDNSCurl

extension HTTPDNSClient {
    /// An executor that runs tasks on the client's loop thread, which saves two changes of thread for each request.
    ///
    /// ```swift
    /// try await withTaskExecutorPreference(client.executor) {
    ///     let response = try await client.get("https://img.shop.example/a.jpg")
    ///     try await store(response.body.collect(upTo: .mebibytes(4)))
    /// }
    /// ```
    ///
    /// It is for a few short steps between requests. Code that runs there delays **all** transfers of the client, and
    /// those of clients that share its transport and trust. Default actors and async sequences that such a task calls
    /// run there as well, and so do interceptors. Run long computations and blocking code elsewhere; a blocking call is
    /// refused (``HTTPDNSClientError/Code/blockingRefused``).
    ///
    /// After the end of the client, tasks that prefer it continue on the default executor.
    public var executor: any TaskExecutor { lane?.executor ?? globalConcurrentExecutor }
}
