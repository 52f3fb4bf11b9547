# hopgraph chat with your documents: see docs/deployment.md.
FROM python:3.13-slim

WORKDIR /app
COPY requirements.txt ./
RUN pip install --no-cache-dir --require-hashes -r requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY graphs graphs
COPY nodes nodes
COPY package package
COPY state state
COPY tools tools
RUN pip install --no-cache-dir --no-deps . && useradd --uid 1000 --create-home hopgraph && install -d -o hopgraph /data

USER 1000
WORKDIR /data
VOLUME /data
EXPOSE 7860
# Liveness, regardless of the models; `/health/ready` is for a load balancer.
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7860/health')"]
ENTRYPOINT ["hopgraph"]
CMD ["chat", "--host", "0.0.0.0", "--port", "7860", "--no-browser", "--threads", "/data/threads.sqlite"]
